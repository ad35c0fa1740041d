# SPDX-License-Identifier: MIT
# embed.awk: a page as a C string. A line "@include FILE" stands for the file beside it; a line "@data" stays.
#
#   awk -v dir=src/write/page -f embed.awk src/write/page/flamegraph.html > flamegraph.inc

function quote(line) {
	gsub(/[\\"]/, "\\\\&", line)
	print "\"" line "\\n\""
}

/^@include / {
	file = dir "/" $2
	while ((status = (getline line < file)) > 0)
		quote(line)
	if (status < 0) {
		print "embed.awk: cannot read " file > "/dev/stderr"
		exit 1
	}
	close(file)
	next
}

{ quote($0) }
