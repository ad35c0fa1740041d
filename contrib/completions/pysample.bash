# SPDX-License-Identifier: MIT
# Completion of pysample for bash: source it, or install it as /usr/share/bash-completion/completions/pysample.

_pysample_python_pids() {
	local folder exe
	for folder in /proc/[0-9]*; do
		exe=$(readlink "$folder/exe" 2> /dev/null) || continue
		[[ ${exe##*/} != *[Pp]ython* ]] || echo "${folder#/proc/}"
	done
}

_pysample_tids() {
	local i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-p | --pid) ls "/proc/${COMP_WORDS[i + 1]}/task" 2> /dev/null ;;
		esac
	done
}

_pysample() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=record words i
	local record_options="--pid --children-of --pid-file --wait --subprocesses --delay --duration --until-exit --samples --window --rate --max-overhead --output --format --threads --tid --thread-name --gil --mode
		--native --debug-dir --idle --no-idle --no-line --full-paths --weights --no-jitter --nonblocking --unwinder --save-capsules
		--capsule-every --push --push-config --push-window --push-timeout --label --quiet --help --version"
	local top_options="--pid --children-of --pid-file --wait --subprocesses --duration --rate --max-overhead --tid --thread-name --gil --mode --native --debug-dir --idle
		--full-paths --no-jitter --nonblocking --quiet --help --version"
	local agent_options="--name --user --cgroup --duration --rate --max-overhead --gil --mode --native --debug-dir --idle --nonblocking
		--push --push-config --push-window --push-timeout --label --quiet --help --version"
	local dump_options="--pid --children-of --pid-file --wait --subprocesses --tid --thread-name --native --debug-dir --full-paths --nonblocking --json --reverse --help --version"
	local doctor_options="--pid --json --help --version"
	local replay_options="--help --version"
	local crosscheck_options="--pid --duration --rate --tid --idle --help --version"
	local report_options="--lines --sort --tree --min-share --callers --pid --tid --thread-name --json --output --format --threads
		--no-line --full-paths --weights --help --version"
	local diff_options="--absolute --lines --sort --json --output --format --threads --no-line --full-paths --weights --help --version"
	local short_options="-p -d -F -o -f -t -T -q -h -V"

	COMPREPLY=()
	# The readline of some shells hands "--mode=cpu" over as three words.
	if [[ $current == "=" ]]; then
		current=
	elif [[ $previous == "=" && $COMP_CWORD -ge 2 ]]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		record | top | agent | dump | doctor | replay | crosscheck | report | diff)
			[[ $i -ne 1 ]] || command=${COMP_WORDS[i]}
			;;
		--)
			# A program to launch: from here on it is that program's command line.
			if declare -F _command_offset > /dev/null; then
				_command_offset $((i + 1))
			else
				mapfile -t COMPREPLY < <(compgen -o default -- "$current")
			fi
			return
			;;
		esac
	done

	case $previous in
	-p | --pid | --children-of) words=$(_pysample_python_pids) ;;
	-T | --tid) words=$(_pysample_tids) ;;
	-f | --format) words="collapsed json speedscope pprof gecko flamegraph heatmap svg" ;;
	--mode) words="wall cpu offcpu gil" ;;
	--weights) words="samples ns" ;;
	--sort) words="own total" ;;
	--min-share) words="0.1% 1% 5%" ;;
	--unwinder) words="table libunwind" ;;
	-d | --duration | --delay | --window) words="10s 30s 1m 5m" ;;
	--push) words="http:// https:// grpc:// grpcs:// pyroscope+http:// pyroscope+https:// env" ;;
	--user) words=$(compgen -u) ;;
	--push-window) words="10s 30s 1m" ;;
	--push-timeout) words="5s 10s 30s" ;;
	-F | --rate) words="10 50 100 200 1000" ;;
	--max-overhead) words="0.1% 0.5% 1% 5%" ;;
	-o | --output | --push-config | --pid-file)
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	--save-capsules | --debug-dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$current")
		return
		;;
	--thread-name | --capsule-every | --lines | --callers | --label | --name | --cgroup | --wait | --samples) return ;;
	*)
		case $command in
		record) words="$record_options" ;;
		top) words="$top_options" ;;
		agent) words="$agent_options" ;;
		dump) words="$dump_options" ;;
		doctor) words="$doctor_options" ;;
		replay) words="$replay_options" ;;
		crosscheck) words="$crosscheck_options" ;;
		report) words="$report_options" ;;
		diff) words="$diff_options" ;;
		esac
		if [[ $current == -? ]]; then
			words+=" $short_options"
		elif [[ $current != -* ]]; then
			if [[ $command == replay || $command == report || $command == diff ]]; then
				mapfile -t COMPREPLY < <(compgen -f -- "$current")
				return
			fi
			[[ $COMP_CWORD -ne 1 ]] || words="record top agent dump doctor replay crosscheck report diff $words"
		fi
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o filenames -F _pysample pysample
