# SPDX-License-Identifier: MIT
"""--help, the man page and the completions name the same options, commands, formats and modes."""

import pathlib
import re
import shutil
import subprocess

import pytest

import runs

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = {"record", "top", "agent", "dump", "doctor", "replay", "crosscheck", "report", "diff"}
FORMATS = {"collapsed", "json", "speedscope", "pprof", "gecko", "flamegraph", "heatmap", "svg"}
MODES = {"wall", "cpu", "offcpu", "gil"}
UNITS = {"samples", "ns"}
UNWINDERS = {"table", "libunwind"}


def text_of(name):
    return (SOURCE / name).read_text()


def help_text(*command):
    run = subprocess.run([runs.program(), *command, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 0
    assert run.stderr == ""
    return run.stdout


def options_of_help(text):
    """The options that a line of --help begins with: "  -p, --pid=PID  …"."""
    found = set()
    for line in text.splitlines():
        match = re.match(r"\s+((?:-\w|--[a-z][a-z-]*)(?:[ =][A-Z]+|\[=[A-Z]+\])?(?:, *(?:-\w|--[a-z][a-z-]*)(?:[ =][A-Z]+)?)*)(?:\s|$)", line)
        if match:
            found |= set(re.findall(r"(?<![\w-])(?:-\w|--[a-z][a-z-]*)", match.group(1)))
    return found


def options_of_man(text):
    """The options that an entry of a list begins with: ".It Fl p Ar PID , Fl -pid Ar PID"."""
    found = set()
    for line in text.splitlines():
        if line.startswith(".It Fl "):
            found |= {"-" + option for option in re.findall(r"\bFl (-?[\w-]+)", line)}
    return found - {"--"}


def options_of_bash(text):
    found = set()
    for words in re.findall(r"local \w+_options=\"([^\"]*)\"", text):
        found |= set(words.split())
    return found


def options_of_zsh(text):
    """The options of the specifications, not those that they exclude."""
    found = set(re.findall(r"(--[a-z][a-z-]*)=?-?\[", text))
    for short, long in re.findall(r"\{(-\w),(--[a-z][a-z-]*)=?\}", text):
        found |= {short, long}
    return found


PLACES = {
    "man/pysample.1": options_of_man,
    "contrib/completions/pysample.bash": options_of_bash,
    "contrib/completions/_pysample": options_of_zsh,
}


@pytest.mark.parametrize("place", PLACES)
def test_the_same_options_as_help(place):
    expected = options_of_help(help_text())
    assert {"-p", "--pid", "-V", "--version"} <= expected
    found = PLACES[place](text_of(place))
    assert not expected - found, "%s lacks what --help has" % place
    assert not found - expected, "%s has what --help lacks" % place


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("option", ["-d", "--no-line"])
def test_a_missing_option_is_noticed(place, option):
    """Given a place that has lost an option, its set is smaller by that one."""
    text = text_of(place)
    worn = re.sub(r"(?<![\w-])%s(?![\w-])" % re.escape(option), "", text)
    worn = re.sub(r"\bFl %s(?![\w-])" % re.escape(option[1:]), "", worn)
    assert PLACES[place](text) - PLACES[place](worn) >= {option}


@pytest.mark.parametrize("place", ["--help", *PLACES])
@pytest.mark.parametrize("words", [COMMANDS, FORMATS, MODES, UNITS, UNWINDERS], ids=["commands", "formats", "modes", "units", "unwinders"])
def test_every_command_format_mode_and_unit_is_named(place, words):
    text = help_text() if place == "--help" else text_of(place)
    assert not words - set(re.findall(r"\w+", text))


def options_of_command_in_bash(command):
    text = text_of("contrib/completions/pysample.bash")
    return set(re.search(r"local %s_options=\"([^\"]*)\"" % command, text).group(1).split())


def accepts(command, option, takes_value, folder):
    """Whether the option goes with the command. The value is one that no option takes for good, so nothing is done."""
    words = [runs.program(), command, option, *(["no/such"] if takes_value else [])]
    run = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return "does not go with this command" not in run.stderr


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_each_command_is_offered_the_options_it_takes(command, tmp_path):
    text = help_text()
    taken = {
        option
        for option in options_of_help(text)
        if option.startswith("--") and accepts(command, option, re.search(option + " [A-Z]", text), tmp_path)
    }
    assert options_of_command_in_bash(command) == taken
    assert {option for option in options_of_help(help_text(command)) if option.startswith("--")} == taken


def complete_in_bash(*words):
    """What the bash completion offers for a command line whose last word is being typed."""
    script = (
        "source %s; COMP_WORDS=(pysample \"$@\"); COMP_CWORD=$(($# )); _pysample; printf '%%s\\n' \"${COMPREPLY[@]}\""
        % (SOURCE / "contrib/completions/pysample.bash")
    )
    run = subprocess.run(["bash", "-c", script, "bash", *words], stdout=subprocess.PIPE, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "words, expected",
    [
        (["d"], {"dump", "doctor", "diff"}),
        (["--mode", ""], MODES),
        (["--mode", "=", "c"], {"cpu"}),
        (["--mode", "="], MODES),
        (["-p", "1", "-f", ""], FORMATS),
        (["doctor", "--"], {"--pid", "--json", "--help", "--version"}),
        (["--weights", ""], UNITS),
        (["doctor", "--p"], {"--pid"}),
        (["--unwinder", ""], UNWINDERS),
        (["crosscheck", "--"], {"--pid", "--duration", "--rate", "--tid", "--idle", "--help", "--version"}),
        (["--no-"], {"--no-idle", "--no-line", "--no-jitter"}),
    ],
    ids=" ".join,
)
def test_bash_completes(words, expected):
    assert complete_in_bash(*words) == expected


def test_bash_completes_the_pid_of_a_python(usual_python):
    with subprocess.Popen([*usual_python.command("-c", "input()")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert str(process.pid) in complete_in_bash("-p", "")
        finally:
            process.kill()


def test_zsh_reads_its_completion():
    if not shutil.which("zsh"):
        pytest.skip("no zsh")
    subprocess.run(["zsh", "-n", str(SOURCE / "contrib/completions/_pysample")], check=True)


@pytest.mark.parametrize("words, expected", [("dump --rev", "--reverse"), ("doc", "doctor"), ("--dur", "--duration"), ("dump --nat", "--native")])
def test_fish_completes(words, expected, tmp_path):
    """From --help of the command, so nothing has to be kept up."""
    if not shutil.which("fish"):
        pytest.skip("no fish")
    (tmp_path / "pysample").symlink_to(runs.program())
    script = "set -p PATH %s; source %s; complete -C 'pysample %s'" % (tmp_path, SOURCE / "contrib/completions/pysample.fish", words)
    run = subprocess.run(["fish", "--no-config", "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    found = [line.split("\t")[0] for line in run.stdout.splitlines()]
    assert found[:1] == [expected]
    assert "--mode" not in found


def test_the_man_page_is_well_formed():
    if not shutil.which("groff"):
        pytest.skip("no groff")
    command = ["groff", "-mdoc", "-Tutf8", "-ww", str(SOURCE / "man/pysample.1")]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert (run.returncode, run.stderr) == (0, "")
