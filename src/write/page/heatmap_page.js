// SPDX-License-Identifier: MIT
// The page: the lists of lines and files, and one source with its weights. The address says which line of which file is shown.

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const HOTTEST = 40;
// Of a line's callees and callers so many are shown.
const JUMPS = 4;
// Of a longer source only lines with a weight are shown, with so many around them.
const LONG = 4000;
const AROUND = 20;
const DEFAULTS = { weight: data.weights, sort: "own", theme: "auto", file: 0, line: 0 };
let view = Object.assign({}, DEFAULTS);

// ---- the data ----

// Undoes the escapes of the file format; a byte that was no text is shown as such.
function unescapeText(text) {
	return text.replace(/(\\+)x([0-9a-f]{2})/g, (all, slashes, digits) =>
		"\\".repeat(slashes.length >> 1) + (slashes.length % 2 ? "\ufffd" : "x" + digits));
}

function readFile(raw, id) {
	const file = { id, name: unescapeText(raw.name), path: unescapeText(raw.path), lines: new Map(), source: null,
		own: { samples: raw.own[0], ns: raw.own[1] }, total: { samples: raw.total[0], ns: raw.total[1] } };
	for (let i = 0; i < raw.lines.length; i += 5) {
		const [line, ownSamples, ownNs, totalSamples, totalNs] = raw.lines.slice(i, i + 5);
		file.lines.set(line, {
			file, line, own: { samples: ownSamples, ns: ownNs }, total: { samples: totalSamples, ns: totalNs }, calls: [],
		});
	}
	if (raw.source !== null)
		file.source = unescapeText(raw.source).split(/\r\n|\r|\n/);
	if (file.source && file.source[file.source.length - 1] === "")
		file.source.pop();
	return file;
}

const all = { samples: data.all[0], ns: data.all[1] };
const files = data.files.map(readFile);
const functions = data.functions.map(([name, file, line]) => ({ name: unescapeText(name), file: files[file] || null, line, callers: [] }));

data.files.forEach((raw, id) => {
	for (let i = 0; i < raw.calls.length; i += 4) {
		const [line, callee, samples, ns] = raw.calls.slice(i, i + 4);
		const call = { from: files[id].lines.get(line), to: functions[callee], samples, ns };
		call.from.calls.push(call);
		call.to.callers.push(call);
	}
});

for (const file of files)
	file.definitions = functions.filter((f) => f.file === file && f.line);

const share = (weights) => all[view.weight] ? weights[view.weight] / all[view.weight] : 0;
const byWeight = (a, b) => b[view.weight] - a[view.weight];

function textOf(file, line) {
	return file.source && line && line <= file.source.length ? file.source[line - 1] : "";
}

// ---- the address ----

function readAddress() {
	const given = new URLSearchParams(location.hash.slice(1));
	view = Object.assign({}, DEFAULTS);
	for (const name of ["weight", "sort", "theme"])
		if ([...byId(name).options].some((option) => option.value === given.get(name)))
			view[name] = given.get(name);
	for (const name of ["file", "line"])
		view[name] = Math.max(0, parseInt(given.get(name), 10) || 0);
	if (!given.has("file"))
		Object.assign(view, hottestPlace());
	if (view.file >= files.length)
		view.file = 0;
}

function addressOf(changes) {
	const kept = new URLSearchParams();
	for (const [name, value] of Object.entries(Object.assign({}, view, changes)))
		if (name === "file" || name === "line" || value !== DEFAULTS[name])
			kept.set(name, value);
	return "#" + kept;
}

function hottestLines() {
	const lines = files.flatMap((file) => [...file.lines.values()]);
	return lines.filter((line) => share(line[view.sort]) > 0).sort((a, b) => byWeight(a[view.sort], b[view.sort]) || byWeight(a.total, b.total));
}

function hottestPlace() {
	const [first] = hottestLines();
	return first ? { file: first.file.id, line: first.line } : { file: 0, line: 0 };
}

// ---- what is shown ----

// The darker, the hotter; the text on it stays readable.
function heat(part) {
	return part > 0 ? `rgb(var(--heat) / ${(0.08 + 0.5 * Math.sqrt(Math.min(1, part))).toFixed(3)})` : "";
}

function numberCell(weights, hottest) {
	const cell = el("td", { class: "number" }, weights && weights[view.weight] ? percent(share(weights)) : "");
	if (weights && weights[view.weight]) {
		cell.style.background = heat(hottest ? weights[view.weight] / hottest : 0);
		cell.title = weightText(weights[view.weight], view.weight);
	}
	return cell;
}

function link(file, line, ...text) {
	return el("a", { href: addressOf({ file: file.id, line }) }, ...text);
}

function showHottest() {
	const rows = hottestLines().slice(0, HOTTEST);
	const hottest = { own: Math.max(0, ...rows.map((row) => row.own[view.weight])), total: Math.max(0, ...rows.map((row) => row.total[view.weight])) };
	byId("hottest").tBodies[0].replaceChildren(...rows.map((row) => el("tr", {},
		numberCell(row.own, hottest.own), numberCell(row.total, hottest.total),
		el("td", { class: "text" }, link(row.file, row.line, row.file.name + (row.line ? ":" + row.line : "")),
			el("small", {}, textOf(row.file, row.line).trim())))));
}

function showFiles() {
	const rows = [...files].sort((a, b) => byWeight(a[view.sort], b[view.sort]) || byWeight(a.total, b.total));
	const hottest = Math.max(0, ...rows.map((file) => file.own[view.weight]));
	byId("files").tBodies[0].replaceChildren(...rows.map((file) => el("tr", { class: file.id === view.file ? "chosen" : null },
		numberCell(file.own, hottest), numberCell(file.total, 0),
		el("td", { class: "text", title: file.path }, link(file, (hottestIn(file) || { line: 0 }).line, file.name)))));
}

function hottestIn(file) {
	return [...file.lines.values()].sort((a, b) => byWeight(a.own, b.own) || byWeight(a.total, b.total))[0];
}

function jump(mark, file, line, name, weights) {
	const text = `${mark} ${name} ${percent(share(weights))}`;
	return file ? link(file, line, text) : el("span", {}, text);
}

// Where a line leads to, and, where a function begins, where it is called from.
function jumps(file, number, line) {
	const found = [];
	const calls = line ? [...line.calls].sort(byWeight) : [];
	for (const call of calls.slice(0, JUMPS))
		found.push(jump("→", call.to.file, call.to.line, call.to.name, call));
	if (calls.length > JUMPS)
		found.push(el("span", {}, `→ ${calls.length - JUMPS} more`));
	for (const f of file.definitions.filter((definition) => definition.line === number)) {
		const callers = [...f.callers].sort(byWeight);
		for (const call of callers.slice(0, JUMPS))
			found.push(jump("←", call.from.file, call.from.line, call.from.file.name + ":" + call.from.line, call));
		if (callers.length > JUMPS)
			found.push(el("span", {}, `← ${callers.length - JUMPS} more`));
	}
	return found.length ? el("span", { class: "jumps" }, ...found) : null;
}

function sourceRow(file, number, hottest) {
	const line = file.lines.get(number);
	const row = el("tr", { id: "L" + number, class: number === view.line ? "chosen" : null },
		numberCell(line && line.own, hottest.own), numberCell(line && line.total, hottest.total),
		el("td", { class: "line" }, number ? link(file, number, String(number)) : "?"),
		el("td", { class: "code" }, number ? textOf(file, number) : "(line unknown)", jumps(file, number, line)));
	if (line && line.own[view.weight])
		row.lastChild.style.background = heat(0.4 * line.own[view.weight] / hottest.own);
	return row;
}

// All lines of a source, else those with a weight or a definition; lines beyond its end too, if it is another version now.
function rowNumbers(file) {
	const length = file.source ? file.source.length : 0;
	const marked = [...file.lines.keys(), ...file.definitions.map((f) => f.line)];
	if (view.line && view.line <= length)
		marked.push(view.line);
	const numbers = new Set(marked);
	if (length > LONG)
		for (const number of marked)
			for (let i = Math.max(1, number - AROUND); i <= Math.min(length, number + AROUND); i++)
				numbers.add(i);
	else
		for (let i = 1; i <= length; i++)
			numbers.add(i);
	return [...numbers].sort((a, b) => a - b);
}

function gapRow(from, to) {
	return el("tr", { class: "gap" }, el("td", {}), el("td", {}), el("td", { class: "line" }, "⋯"),
		el("td", { class: "code" }, `${(to - from + 1).toLocaleString("en")} lines without a weight`));
}

function sourceRows(file, numbers, hottest) {
	const found = [];
	let last = 0;
	for (const number of numbers) {
		if (file.source && number > last + 1 && last < file.source.length)
			found.push(gapRow(last + 1, number - 1));
		found.push(sourceRow(file, number, hottest));
		last = number;
	}
	if (file.source && last < file.source.length)
		found.push(gapRow(last + 1, file.source.length));
	return found;
}

function noteOf(file, numbers) {
	if (!file.source)
		return "The source could not be read: lines alone.";
	if (numbers[numbers.length - 1] > file.source.length)
		return "The source has fewer lines than the program had: it is another version of it.";
	return "";
}

function showSource() {
	const file = files[view.file];
	const body = byId("source").tBodies[0];
	if (!file) {
		byId("path").textContent = "";
		byId("note").textContent = "No sample has a line of Python in it.";
		body.replaceChildren();
		return;
	}
	const weights = (kind) => [...file.lines.values()].map((line) => line[kind][view.weight]);
	const hottest = { own: Math.max(0, ...weights("own")), total: Math.max(0, ...weights("total")) };
	const numbers = rowNumbers(file);
	byId("path").textContent = file.path;
	byId("note").textContent = noteOf(file, numbers);
	body.replaceChildren(...sourceRows(file, numbers, hottest));
}

function showTheme() {
	const dark = view.theme === "dark" || (view.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
	document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function show() {
	readAddress();
	for (const name of ["weight", "sort", "theme"])
		byId(name).value = view[name];
	showTheme();
	showHottest();
	showFiles();
	showSource();
	const row = byId("L" + view.line);
	if (row)
		row.scrollIntoView({ block: "center" });
}

// The next line of the file with a weight, before or after the one that is chosen.
function step(direction) {
	const file = files[view.file];
	if (!file)
		return;
	const hot = [...file.lines.values()].filter((line) => line.own[view.weight] || line.total[view.weight]).map((line) => line.line);
	const next = direction > 0 ? Math.min(...hot.filter((line) => line > view.line)) : Math.max(...hot.filter((line) => line < view.line));
	if (isFinite(next))
		location.hash = addressOf({ line: next });
}

for (const name of ["weight", "sort", "theme"])
	byId(name).addEventListener("change", () => { location.hash = addressOf({ [name]: byId(name).value }); });
byId("next").addEventListener("click", () => step(1));
byId("previous").addEventListener("click", () => step(-1));
document.addEventListener("keydown", (event) => {
	if (event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === "SELECT")
		return;
	if (event.key === "n" || event.key === "p")
		step(event.key === "n" ? 1 : -1);
});
addEventListener("hashchange", show);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
writeHeader({ processes: data.processes, runs: data.runs, isDiff: false });
show();
