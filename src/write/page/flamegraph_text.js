// SPDX-License-Identifier: MIT
// Numbers and facts in words; texts of the profile only ever become text nodes.

function el(name, attributes, ...children) {
	const node = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {})) {
		if (key === "class")
			node.className = value;
		else if (key.startsWith("on"))
			node.addEventListener(key.slice(2), value);
		else if (value !== null && value !== undefined && value !== false)
			node.setAttribute(key, value === true ? "" : value);
	}
	node.append(...children.filter((child) => child !== null && child !== undefined));
	return node;
}

function percent(share) {
	if (!isFinite(share))
		return "–";
	const value = 100 * share;
	const fine = (value !== 0 && Math.abs(value) < 0.995) || (value > 99.94 && value < 100);
	return value.toFixed(fine ? 2 : 1) + " %";
}

function points(difference) {
	return (difference > 0 ? "+" : difference < 0 ? "−" : "±") + Math.abs(100 * difference).toFixed(2);
}

function duration(ns) {
	const seconds = ns / 1e9;
	if (seconds >= 3600)
		return Math.floor(seconds / 3600) + " h " + Math.round(seconds % 3600 / 60) + " min";
	if (seconds >= 100)
		return Math.floor(seconds / 60) + " min " + Math.round(seconds % 60) + " s";
	if (seconds >= 1)
		return seconds.toFixed(2) + " s";
	return ns >= 1e6 ? (ns / 1e6).toFixed(1) + " ms" : (ns / 1e3).toFixed(1) + " µs";
}

function weightText(value, weight) {
	return weight === "samples" ? value.toLocaleString("en") + (value === 1 ? " sample" : " samples") : duration(value);
}

function place(label) {
	return label.file ? label.file + (label.line ? ":" + label.line : "") : "";
}

// A word as a shell would need it, short.
function shellWord(word) {
	return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'";
}

function commandOf(process) {
	return process.argv && process.argv.length ? process.argv.map(shellWord).join(" ") : process.executable || process.name;
}

function processText(process) {
	return "pid " + process.pid + (process.python ? ", Python " + process.python : "") + (process.executable ? ", " + process.executable : "");
}

function countReasons(list) {
	return list.reduce((sum, reason) => sum + reason[2], 0);
}

function reasonList(list) {
	return el("ul", {}, ...list.map(([name, text, count]) => el("li", { title: name }, count.toLocaleString("en") + " × " + text + " (" + name + ")")));
}

function fact(name, value, small, more) {
	return el("div", {}, el("dt", {}, name), el("dd", {}, value, small ? el("small", {}, " " + small) : null, more));
}

// How a run went: what a person needs to know before believing the picture.
function runFacts(run, title) {
	const hz = (mhz) => (mhz / 1000).toFixed(mhz < 10000 ? 1 : 0) + " Hz";
	const asked = run.interval_ns ? "of " + hz(1e12 / run.interval_ns) + " asked for" : "";
	const lost = countReasons(run.lost), tries = run.samples + lost;
	const complete = tries ? percent(run.complete / tries) : "–";
	const cut = countReasons(run.cut);
	const ticks = [];
	if (run.skipped)
		ticks.push(run.skipped.toLocaleString("en") + " skipped");
	if (run.late)
		ticks.push(run.late.toLocaleString("en") + " late");
	return el("dl", title ? { class: "run" } : {},
		title ? fact("run", title) : null,
		fact("duration", duration(run.duration_ns), run.start_time ? "from " + run.start_time : ""),
		fact("rate", hz(run.rate_mhz), [asked, ...ticks].filter(Boolean).join(", ")),
		fact("weights", { wall: "wall time", cpu: "CPU time", offcpu: "time off the CPU", gil: "time with the GIL" }[run.mode] || run.mode),
		fact("samples", run.samples.toLocaleString("en")),
		fact("complete stacks", complete, cut ? cut.toLocaleString("en") + " cut" : "", cut ? reasonList(run.cut) : null),
		fact("lost", el("span", lost ? { class: "bad" } : {}, lost.toLocaleString("en")), lost ? percent(lost / tries) : "", lost ? reasonList(run.lost) : null),
		run.notes.length ? fact("notes", el("details", {}, el("summary", {}, run.notes.length + " to read"), el("ul", {}, ...run.notes.map((note) => el("li", {}, note))))) : null);
}

function writeHeader(p) {
	const first = p.processes[0];
	const title = document.getElementById("title"), list = document.getElementById("processes");
	if (p.isDiff)
		title.textContent = "What changed in " + (first ? commandOf(first) : "a program");
	else if (p.processes.length > 1)
		title.textContent = p.processes.length + " processes: " + commandOf(first);
	else
		title.textContent = first ? commandOf(first) : "no process";
	title.title = title.textContent;
	document.title = "pysample: " + title.textContent.slice(0, 80);
	const several = p.processes.length > 1;
	for (const process of p.processes) {
		const run = p.isDiff ? (process.run ? "after: " : "before: ") : "";
		list.append(el("div", {}, run + processText(process) + (several ? ": " + commandOf(process) : "")));
	}
	const facts = document.getElementById("facts");
	p.runs.forEach((run, i) => facts.append(runFacts(run, p.isDiff ? ["before", "after"][i] : "")));
}
