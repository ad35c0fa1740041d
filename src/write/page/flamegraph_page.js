// SPDX-License-Identifier: MIT
// The page: its controls, tables and keys, and the address that keeps the view.

const byId = (id) => document.getElementById(id);
const profile = readProfile(JSON.parse(byId("data").textContent));

const DEFAULTS = {
	group: "function", thread: "", colour: profile.hasNative ? "kind" : "module", weight: profile.weights, width: "both", inverted: false, flame: false,
	idle: profile.hasIdle, native: profile.hasNative, focus: "", search: "", regex: false, sort: profile.isDiff ? "change" : "own",
	rows: 10, theme: "auto", zoom: "", mark: "",
};
// Names in the address.
const SHORT = {
	group: "by", thread: "of", colour: "c", weight: "w", width: "width", inverted: "inv", flame: "fl", idle: "idle", native: "nat",
	focus: "f", search: "q", regex: "re", sort: "sort", rows: "n", theme: "theme", zoom: "z", mark: "m",
};

let view = Object.assign({}, DEFAULTS);
const state = { labels: null, w: null, sums: null, tree: null, root: 0, hits: null, colours: null, key: "" };
const canvas = new FlameCanvas(byId("canvas"), byId("scroll"), byId("spacer"));

// ---- the address ----

function readAddress() {
	const given = new URLSearchParams(location.hash.slice(1));
	view = Object.assign({}, DEFAULTS);
	for (const [name, short] of Object.entries(SHORT)) {
		const text = given.get(short);
		if (text === null)
			continue;
		if (typeof DEFAULTS[name] === "boolean")
			view[name] = text === "1";
		else if (typeof DEFAULTS[name] === "number")
			view[name] = Math.min(1000, Math.max(1, parseInt(text, 10) || DEFAULTS[name]));
		else
			view[name] = text;
	}
	for (const id of ["group", "thread", "colour", "weight", "width", "theme"])
		if (![...byId(id).options].some((option) => option.value === view[id]))
			view[id] = DEFAULTS[id];
}

function writeAddress() {
	const kept = new URLSearchParams();
	for (const [name, short] of Object.entries(SHORT)) {
		const value = view[name];
		if (value !== DEFAULTS[name])
			kept.set(short, typeof value === "boolean" ? (value ? "1" : "0") : value);
	}
	const text = kept.toString();
	try {
		if (text !== location.hash.slice(1))
			history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
	} catch (error) {
		// A page within another one may have no address of its own.
	}
}

// The zoomed frame as the number of the child at each level.
function pathOf(node) {
	const path = [];
	for (; node > 0; node = state.tree.parent[node])
		path.push(state.tree.children(state.tree.parent[node]).indexOf(node));
	return path.reverse().join(".");
}

function nodeAt(path) {
	let node = 0;
	for (const step of path ? path.split(".") : []) {
		const child = state.tree.children(node)[Number(step)];
		if (child === undefined)
			break;
		node = child;
	}
	return node;
}

// ---- from the view to what is shown ----

// Anything but the zoom has changed: trees and tables are made anew where they depend on it.
function update() {
	const filters = [view.group, view.thread, view.weight, view.idle, view.native].join("\n");
	if (state.filters !== filters) {
		state.filters = filters;
		state.labels = makeLabels(profile, view.group);
		state.w = weigh(profile, view);
		state.shown = shownLabels(profile, state.labels, view);
		state.sums = tally(profile, state.labels, state.w, state.shown);
		state.treeKey = "";
	}
	const treeKey = [view.inverted, view.focus, view.width].join("\n");
	if (state.treeKey !== treeKey) {
		state.treeKey = treeKey;
		state.tree = makeTree();
	}
	const all = state.w.all[0] + state.w.all[1];
	Object.assign(state, { paint: makeColours(state.labels, state.sums, view.colour, all) });
	state.root = nodeAt(view.zoom);
	canvas.selected = canvas.hovered = -1;
	search();
	writeControls();
	writeFocus();
	writeLegend();
	writeTable();
	draw();
	if (state.flame !== view.flame) {
		state.flame = view.flame;
		byId("scroll").scrollTop = view.flame ? byId("scroll").scrollHeight : 0;
	}
	describe(state.root, false);
}

function makeTree() {
	const focus = view.focus ? labelOfKey(view.focus) : -1;
	const kind = view.inverted ? UpTree : DownTree;
	return new kind(profile, state.labels, view, state.w, state.shown, widthOf).finish(focus);
}

function labelOfKey(key) {
	const id = state.labels.ids.get(key);
	return id === undefined ? -1 : id;
}

function share(value, side) {
	return state.w.all[side] > 0 ? value / state.w.all[side] : 0;
}

function widthOf(before, after) {
	if (!profile.isDiff)
		return before;
	return view.width === "before" ? share(before, 0) : view.width === "after" ? share(after, 1) : share(before, 0) + share(after, 1);
}

function draw() {
	const { tree, labels, paint } = state;
	canvas.show({
		tree, root: state.root, flame: view.flame,
		textOf: (node) => node ? frameText(labels.list[tree.label[node]]) : rootText(),
		colourOf: (node) => profile.isDiff ? diffColour(share(tree.total[0][node], 0), share(tree.total[1][node], 1)) : paint.colours[tree.label[node]],
		dims: (node) => state.hits ? !state.hits[tree.label[node]] : state.marked >= 0 && tree.label[node] !== state.marked,
	});
	byId("canvas").setAttribute("aria-label", (view.flame ? "Flame" : "Icicle") + " graph of " + rootText() + ". Arrow keys move between frames.");
}

function frameText(label) {
	return view.group === "line" && label.line ? label.name + ":" + label.line : label.name;
}

function rootText() {
	if (!view.focus || labelOfKey(view.focus) < 0)
		return "all";
	return (view.inverted ? "callers of " : "called from ") + state.labels.list[labelOfKey(view.focus)].name;
}

// ---- search ----

function search() {
	const box = byId("search"), out = byId("matched");
	state.hits = null;
	state.marked = view.mark ? labelOfKey(view.mark) : -1;
	box.removeAttribute("aria-invalid");
	out.textContent = "";
	if (!view.search)
		return;
	let test = null;
	const text = view.search.toLowerCase();
	if (view.regex) {
		try {
			const expression = new RegExp(view.search, "i");
			test = (name) => expression.test(name);
		} catch (error) {
			box.setAttribute("aria-invalid", "true");
			out.textContent = "not a regular expression";
			return;
		}
	} else {
		test = (name) => name.toLowerCase().includes(text);
	}
	state.hits = state.labels.list.map((label) => test(label.file ? label.name + " (" + place(label) + ")" : label.name) ? 1 : 0);
	const sides = profile.isDiff ? [0, 1] : [0];
	out.textContent = sides.map((side) => percent(share(matchedWeight(profile, state.labels, state.w, state.shown, state.hits, side), side))).join(" → ") + " matched";
}

function nextMatch() {
	if (!state.hits)
		return;
	const rects = canvas.rects.filter((rect) => rect.node > 0 && state.hits[state.tree.label[rect.node]]);
	rects.sort((a, b) => a.depth - b.depth || a.x - b.x);
	const at = rects.findIndex((rect) => rect.node === canvas.selected);
	if (rects.length)
		select(rects[(at + 1) % rects.length].node);
}

// ---- details, tables, legend ----

function numbersOf(total, own, parent) {
	const one = (side) => {
		const text = "total " + weightText(total[side], view.weight) + ", " + percent(share(total[side], side)) + " of all";
		const of = parent ? ", " + percent(parent[side] > 0 ? total[side] / parent[side] : 0) + " of its parent" : "";
		return text + of + (own ? "; own " + weightText(own[side], view.weight) + ", " + percent(share(own[side], side)) : "");
	};
	if (!profile.isDiff)
		return [el("div", { class: "numbers" }, one(0))];
	const difference = share(total[1], 1) - share(total[0], 0);
	return [el("div", { class: "numbers" }, "before: " + one(0)), el("div", { class: "numbers" }, "after: " + one(1)),
		el("div", { class: "numbers" }, points(difference) + " points")];
}

function describeNode(node) {
	const { tree, labels } = state, label = node ? labels.list[tree.label[node]] : null;
	const both = (values) => [values[0][node], values[1][node]];
	const up = tree.parent[node], parent = node ? [tree.total[0][up], tree.total[1][up]] : null;
	// In an inverted tree a frame's own weight is that of stacks which begin there: not what own means elsewhere.
	const own = node && !view.inverted ? [0, 1].map((side) => tree.ownOf(node, side)) : null;
	const kind = label ? KINDS[label.kind] : "";
	return [el("div", {}, el("span", { class: "name" }, label ? label.name : rootText()), " ",
		el("span", { class: "file" }, label ? [place(label), kind].filter(Boolean).join(", ") : "")), ...numbersOf(both(tree.total), own, parent)];
}

function describeLabel(id) {
	const label = state.labels.list[id], { sums } = state;
	const both = (values) => [values[0][id], values[1][id]];
	return [el("div", {}, el("span", { class: "name" }, label.name), " ", el("span", { class: "file" }, place(label))), ...numbersOf(both(sums.total), both(sums.self), null)];
}

function actionsFor(id) {
	const label = state.labels.list[id];
	if (!label.key || label.key.startsWith("\n"))
		return [];
	const go = (inverted) => () => setView({ focus: label.key, inverted, zoom: "" });
	return [el("button", { type: "button", onclick: go(true) }, "Callers of it"), el("button", { type: "button", onclick: go(false) }, "Called from it")];
}

// Below the graph: the frame that is selected, else the one under the pointer.
function describe(node, actions) {
	const parts = node < 0 ? [] : describeNode(node);
	if (actions && node > 0)
		parts[0].append(...actionsFor(state.tree.label[node]));
	byId("details").replaceChildren(...parts);
}

function writeFocus() {
	const bar = byId("focus"), id = view.focus ? labelOfKey(view.focus) : -1;
	bar.hidden = !view.focus;
	if (!view.focus)
		return;
	const name = id < 0 ? view.focus.split("\n")[0] : state.labels.list[id].name;
	const missing = id < 0 || !(state.sums.total[0][id] + state.sums.total[1][id]);
	bar.replaceChildren(el("span", {}, view.inverted ? "callers of" : "called from", " ", el("b", {}, name), missing ? ": not in this view" : ""),
		el("button", { type: "button", onclick: () => setView({ inverted: !view.inverted, zoom: "" }) }, view.inverted ? "what it calls" : "its callers"),
		el("button", { type: "button", onclick: () => setView({ focus: "", inverted: false, zoom: "" }) }, "back to all"));
}

function writeLegend() {
	const entry = (colour, ...text) => el("span", {}, el("i", { style: "background:" + colour }), ...text);
	const legend = byId("legend");
	if (profile.isDiff) {
		const names = ["gone", "much less", "less", "same share", "more", "much more", "new"];
		legend.replaceChildren(...DIFF_COLOURS.map((colour, i) => entry(colour, names[i])), "width: " + (view.width === "both" ? "mean of both shares" : "share " + view.width));
		return;
	}
	legend.replaceChildren(...state.paint.entries.map((kind) => entry(kind.colour, kind.name, " ", percent(kind.share))), el("span", {}, "share of own " + (view.weight === "ns" ? "time" : "samples")));
}

function columns() {
	const { sums } = state;
	const own = (id, side) => share(sums.self[side][id], side), total = (id, side) => share(sums.total[side][id], side);
	if (!profile.isDiff)
		return [
			{ key: "own", name: "Own", value: (id) => own(id, 0), text: percent },
			{ key: "total", name: "Total", value: (id) => total(id, 0), text: percent },
		];
	return [
		{ key: "before", name: "Before", value: (id) => own(id, 0), text: percent },
		{ key: "after", name: "After", value: (id) => own(id, 1), text: percent },
		{ key: "change", name: "Own ±", value: (id) => own(id, 1) - own(id, 0), text: points },
		{ key: "total", name: "Total ±", value: (id) => total(id, 1) - total(id, 0), text: points },
	];
}

function hottest() {
	const { labels, sums } = state, list = columns();
	const sort = list.find((column) => column.key === view.sort) || list[0];
	const ids = labels.list.map((_, id) => id).filter((id) => id !== labels.waiting && sums.total[0][id] + sums.total[1][id] > 0);
	const ties = (id) => sums.total[0][id] + sums.total[1][id];
	ids.sort((a, b) => Math.abs(sort.value(b)) - Math.abs(sort.value(a)) || ties(b) - ties(a) || a - b);
	return { list, sort, ids };
}

function writeTable() {
	const { list, sort, ids } = hottest(), { labels } = state;
	const what = { function: "functions", line: "lines", module: "modules", file: "files" }[view.group];
	const count = Math.min(view.rows, ids.length);
	byId("hottest-title").textContent = (profile.isDiff ? "Largest changes: " : "Hottest ") + what + (profile.isDiff ? ", share of own " + (view.weight === "ns" ? "time" : "samples") : "");
	const head = list.map((column) => el("th", { class: "number", scope: "col", "aria-sort": column === sort ? "descending" : null },
		el("button", { type: "button", "data-sort": column.key, onclick: () => setView({ sort: column.key }) }, column.name + (column === sort ? "▾" : ""))));
	const rows = ids.slice(0, count).map((id) => {
		const label = labels.list[id];
		const cells = list.map((column) => el("td", { class: "number" }, column.text(column.value(id)),
			profile.isDiff ? null : el("i", { style: "width:" + (100 * column.value(id)).toFixed(1) + "%" })));
		const colour = profile.isDiff ? diffColour(share(state.sums.total[0][id], 0), share(state.sums.total[1][id], 1)) : state.paint.colours[id];
		const name = el("button", { type: "button", class: "name", title: label.name + "\n" + place(label), "aria-pressed": String(id === state.marked),
			onclick: () => setView({ mark: view.mark === label.key ? "" : label.key }) },
			el("span", { class: "swatch", style: "background:" + colour }), frameText(label));
		return el("tr", { class: id === state.marked ? "marked" : null }, ...cells, el("td", {}, name, el("span", { class: "file" }, label.name === label.file ? "" : place(label))));
	});
	const table = el("table", { class: profile.isDiff ? "diff" : null }, el("thead", {}, el("tr", {}, ...head, el("th", { scope: "col" }, what.slice(0, -1)))), el("tbody", {}, ...rows));
	byId("hottest").replaceChildren(ids.length ? table : el("p", { class: "message" }, "No samples in this view."));
	byId("more").hidden = count >= ids.length;
	if (state.marked >= 0)
		byId("hottest").prepend(el("div", { class: "message", id: "marked" }, ...describeLabel(state.marked), ...actionsFor(state.marked)));
}

// ---- controls ----

function writeControls() {
	for (const id of ["group", "thread", "colour", "weight", "width", "theme"])
		byId(id).value = view[id];
	for (const id of ["inverted", "flame", "idle", "native", "regex"])
		byId(id).checked = view[id];
	if (byId("search").value !== view.search)
		byId("search").value = view.search;
	const dark = view.theme === "dark" || (view.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
	document.documentElement.dataset.theme = dark ? "dark" : "light";
	writeAddress();
}

function setView(what) {
	view = Object.assign({}, view, what);
	update();
	if (what.mark)
		canvas.reveal(firstOf(state.marked));
}

function firstOf(label) {
	const rect = canvas.rects.find((one) => one.node > 0 && state.tree.label[one.node] === label);
	return rect ? rect.node : -1;
}

function zoom(node) {
	view.zoom = pathOf(node);
	state.root = node;
	writeAddress();
	draw();
	canvas.reveal(node);
	if (!canvas.rectOf.has(canvas.selected))
		canvas.selected = -1;
	describe(canvas.selected >= 0 ? canvas.selected : node, true);
}

function select(node) {
	if (node < 0)
		return;
	canvas.selected = node;
	canvas.reveal(node);
	canvas.paint();
	describe(node, true);
}

function fillThreads() {
	const choice = byId("thread");
	const add = (value, text, to) => to.append(el("option", { value }, text));
	add("", profile.processes.length > 1 && !profile.isDiff ? "all processes" : "all threads", choice);
	if (profile.isDiff) {
		for (const name of [...new Set(profile.threads.map((thread) => thread.name))].sort())
			add("n:" + name, name, choice);
		return;
	}
	profile.processes.forEach((process, i) => {
		const several = profile.processes.length > 1;
		const to = several ? choice.appendChild(el("optgroup", { label: "process " + process.pid + " (" + process.name + ")" })) : choice;
		if (several)
			add("p" + i, "process " + process.pid + ": all threads", to);
		profile.threads.forEach((thread, t) => {
			if (thread.process === i)
				add("t" + t, thread.name + " (" + thread.tid + ")", to);
		});
	});
}

function clearStep() {
	if (view.search)
		setView({ search: "" });
	else if (view.mark)
		setView({ mark: "" });
	else if (state.root)
		zoom(0);
	else
		setView({ focus: "", inverted: false, thread: "", group: "function" });
}

function showKeys() {
	const hidden = byId("keys").hidden = !byId("keys").hidden;
	byId("help").setAttribute("aria-expanded", String(!hidden));
	draw();
}

// Keys that mean something wherever the focus is, but for fields that take text.
const KEYS = {
	"/": () => byId("search").select(),
	"?": showKeys,
	i: () => setView({ inverted: !view.inverted, zoom: "" }),
	f: () => setView({ flame: !view.flame }),
	n: nextMatch,
	Escape: clearStep,
};

function focusOnSelected(inverted) {
	const node = canvas.selected;
	if (node > 0 && !state.labels.list[state.tree.label[node]].key.startsWith("\n"))
		setView({ focus: state.labels.list[state.tree.label[node]].key, inverted, zoom: "" });
}

const outwards = () => select(canvas.selected > 0 ? state.tree.parent[canvas.selected] : 0);
const inwards = () => select(canvas.selected < 0 ? state.root : canvas.firstChild(canvas.selected));
const GRAPH_KEYS = {
	ArrowLeft: () => select(canvas.selected < 0 ? state.root : canvas.neighbour(canvas.selected, -1)),
	ArrowRight: () => select(canvas.selected < 0 ? state.root : canvas.neighbour(canvas.selected, 1)),
	ArrowUp: () => view.flame ? inwards() : outwards(),
	ArrowDown: () => view.flame ? outwards() : inwards(),
	Enter: () => canvas.selected >= 0 && zoom(canvas.selected),
	Backspace: () => state.root && zoom(state.tree.parent[state.root]),
	c: () => focusOnSelected(true),
	e: () => focusOnSelected(false),
};

function listenToKeys() {
	document.addEventListener("keydown", (event) => {
		const target = event.target, types = target.matches("input[type=search], select");
		if (event.ctrlKey || event.metaKey || event.altKey || (types && event.key !== "Escape"))
			return;
		const action = (target === byId("canvas") && GRAPH_KEYS[event.key]) || KEYS[event.key];
		if (!action)
			return;
		event.preventDefault();
		action();
	});
}

function listenToPointer() {
	const tip = byId("tip"), surface = byId("canvas");
	surface.addEventListener("mousemove", (event) => {
		const node = canvas.at(event.clientX, event.clientY);
		tip.hidden = node < 0;
		surface.style.cursor = node < 0 ? "default" : "pointer";
		if (node < 0)
			return;
		if (node !== canvas.hovered) {
			canvas.hovered = node;
			canvas.paint();
			tip.replaceChildren(...describeNode(node));
			if (canvas.selected < 0)
				describe(node, false);
		}
		const box = tip.getBoundingClientRect();
		tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - box.width - 8)) + "px";
		tip.style.top = (event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18) + "px";
	});
	surface.addEventListener("mouseleave", () => {
		tip.hidden = true;
		canvas.hovered = -1;
		canvas.paint();
	});
	surface.addEventListener("click", (event) => {
		const node = canvas.at(event.clientX, event.clientY);
		if (node < 0)
			return;
		canvas.selected = node;
		tip.hidden = true;
		zoom(node);
	});
}

function listen() {
	for (const id of ["group", "thread", "weight", "width"])
		byId(id).addEventListener("change", () => setView({ [id]: byId(id).value, zoom: "" }));
	for (const id of ["colour", "theme"])
		byId(id).addEventListener("change", () => setView({ [id]: byId(id).value }));
	for (const id of ["inverted", "idle", "native"])
		byId(id).addEventListener("change", () => setView({ [id]: byId(id).checked, zoom: "" }));
	for (const id of ["flame", "regex"])
		byId(id).addEventListener("change", () => setView({ [id]: byId(id).checked }));
	byId("search").addEventListener("input", () => setView({ search: byId("search").value }));
	byId("search").addEventListener("keydown", (event) => event.key === "Enter" && (byId("canvas").focus(), nextMatch()));
	byId("reset").addEventListener("click", () => setView(Object.assign({}, DEFAULTS, { theme: view.theme })));
	byId("more").addEventListener("click", () => setView({ rows: view.rows * 5 }));
	byId("help").addEventListener("click", showKeys);
	byId("scroll").addEventListener("scroll", () => canvas.paint());
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
	window.addEventListener("hashchange", () => { readAddress(); update(); });
	new ResizeObserver(() => state.tree && draw()).observe(byId("scroll"));
	listenToKeys();
	listenToPointer();
}

function disable(id, reason) {
	const label = byId(id).closest("label");
	byId(id).disabled = true;
	label.classList.add("off");
	label.title = reason;
}

function start() {
	writeHeader(profile);
	fillThreads();
	byId("width-label").hidden = !profile.isDiff;
	byId("colour").closest("label").hidden = profile.isDiff;
	if (!profile.hasIdle)
		disable("idle", "No samples of sleeping threads were taken: record with --idle");
	if (!profile.hasNative)
		disable("native", "No native frames were recorded: record with --native");
	readAddress();
	listen();
	update();
	document.documentElement.dataset.ready = "yes";
}

start();

// For scripts: what is drawn and listed just now.
window.flamegraph = {
	frames: () => canvas.rects.filter((rect) => rect.node >= 0).map((rect) => {
		const { tree, labels } = state, label = rect.node ? labels.list[tree.label[rect.node]] : null;
		const box = byId("canvas").getBoundingClientRect();
		return {
			name: label ? label.name : "", file: label ? label.file : "", line: label ? label.line : 0, kind: label ? KINDS[label.kind] : "", depth: rect.depth,
			x: box.left + rect.x, y: box.top + canvas.rowTop(rect.depth) - byId("scroll").scrollTop, w: rect.w, h: ROW,
			total: [tree.total[0][rect.node], tree.total[1][rect.node]], own: [0, 1].map((side) => tree.ownOf(rect.node, side)),
		};
	}),
	totals: () => state.labels.list.map((label, id) => ({
		name: label.name, file: label.file, line: label.line, kind: KINDS[label.kind],
		own: [state.sums.self[0][id], state.sums.self[1][id]], total: [state.sums.total[0][id], state.sums.total[1][id]],
	})),
	all: () => [...state.w.all],
	view: () => Object.assign({}, view),
};
