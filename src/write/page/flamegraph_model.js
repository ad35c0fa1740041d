// SPDX-License-Identifier: MIT
// The profile as typed arrays, and trees built from it: no drawing, no elements of the page.
"use strict";

const KINDS = ["Python", "extension or library", "interpreter", "C library", "kernel, waiting", "mark"];
const KIND_PYTHON = 0, KIND_KERNEL = 4, KIND_MARK = 5;
const IDLE = 1;

function readProfile(data) {
	const p = {
		runs: data.runs,
		processes: data.processes,
		threads: data.threads.map(([process, tid, name]) => ({ process, tid, name })),
		weights: data.weights,
		isDiff: data.runs.length > 1,
	};
	const every = (array, step, at, type) => type.from({ length: array.length / step }, (_, i) => array[i * step + at]);
	p.functions = [];
	for (let i = 0; i < data.functions.length; i += 4)
		p.functions.push({
			name: data.names[data.functions[i]] || "[unnamed]",
			file: data.functions[i + 1] ? data.files[data.functions[i + 1] - 1] : "",
			line: data.functions[i + 2],
			kind: data.functions[i + 3],
		});
	p.frameFunction = every(data.frames, 2, 0, Uint32Array);
	p.frameLine = every(data.frames, 2, 1, Uint32Array);
	p.count = data.stacks.length / 2;
	p.parent = new Int32Array(p.count);
	p.frame = new Uint32Array(p.count);
	for (let i = 0; i < p.count; i++) {
		p.parent[i] = data.stacks[2 * i] ? i - data.stacks[2 * i] : -1;
		p.frame[i] = data.stacks[2 * i + 1];
	}
	p.sampleStack = every(data.samples, 5, 0, Int32Array).map((stack) => stack - 1);
	p.sampleThread = every(data.samples, 5, 1, Uint32Array);
	p.sampleFlags = every(data.samples, 5, 2, Uint8Array);
	p.sampleCount = every(data.samples, 5, 3, Float64Array);
	p.sampleNs = every(data.samples, 5, 4, Float64Array);
	p.hasIdle = p.sampleFlags.some((flags) => flags & IDLE);
	p.hasNative = p.functions.some((f) => f.kind !== KIND_PYTHON && f.kind !== KIND_MARK);
	return p;
}

// "json/decoder.py" is the module json.decoder; a library is its own module.
function moduleOf(fn) {
	if (!fn.file)
		return fn.name;
	if (fn.kind !== KIND_PYTHON)
		return fn.file.slice(fn.file.lastIndexOf("/") + 1);
	if (!fn.file.endsWith(".py"))
		return fn.file;
	return fn.file.slice(0, -3).replace(/^\/+/, "").replace(/\/__init__$/, "").replace(/\//g, ".");
}

function packageOf(fn) {
	const name = moduleOf(fn);
	return fn.kind === KIND_PYTHON && !name.startsWith("<") ? name.split(".")[0] : name;
}

// What a frame is called in a grouping: a label for each, equal ones merged.
function makeLabels(p, group) {
	const ids = new Map(), list = [], ofFrame = new Int32Array(p.frameFunction.length);
	const add = (key, label) => {
		let id = ids.get(key);
		if (id === undefined) {
			id = list.length;
			ids.set(key, id);
			list.push(label);
		}
		return id;
	};
	const ofFunction = (fn, line) => {
		const label = { name: fn.name, file: fn.file, line, kind: fn.kind, package: packageOf(fn), key: "" };
		if (fn.kind === KIND_MARK || !fn.file)
			label.key = fn.name;
		else if (group === "module")
			label.key = label.name = moduleOf(fn);
		else if (group === "file")
			label.key = label.name = fn.file;
		else
			label.key = fn.name + "\n" + fn.file + (p.isDiff && group === "function" ? "" : "\n" + line);
		if (group === "module" || group === "file")
			label.line = 0;
		return add(label.key, label);
	};
	for (let i = 0; i < ofFrame.length; i++) {
		const fn = p.functions[p.frameFunction[i]];
		const line = group === "line" ? p.frameLine[i] || fn.line : fn.line;
		ofFrame[i] = ofFunction(fn, line);
	}
	const mark = (name, kind) => add("\n" + name, { name, file: "", line: 0, kind, package: name, key: "\n" + name });
	return { list, ids, ofFrame, waiting: mark("[waiting]", KIND_KERNEL), none: mark("[no frames]", KIND_MARK) };
}

// A tree that grows: a node is a number, its parent's is lower. 0 is the root.
class Tree {
	constructor(room) {
		this.parent = new Int32Array(room);
		this.label = new Int32Array(room);
		this.self = [new Float64Array(room), new Float64Array(room)];
		this.total = [new Float64Array(room), new Float64Array(room)];
		this.count = 1;
		this.parent[0] = this.label[0] = -1;
		this.slots = new Int32Array(1024);
	}

	child(parent, label) {
		const slots = this.slots, mask = slots.length - 1;
		let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(label + 1, 0x85ebca6b)) >>> 0;
		for (at = (at ^ at >>> 15) & mask; slots[at]; at = (at + 1) & mask)
			if (this.parent[slots[at]] === parent && this.label[slots[at]] === label)
				return slots[at];
		if (this.count === this.parent.length)
			this.grow();
		const node = this.count++;
		this.parent[node] = parent;
		this.label[node] = label;
		slots[at] = node;
		if (this.count * 2 > slots.length)
			this.rehash();
		return node;
	}

	grow() {
		const larger = (array) => {
			const copy = new array.constructor(array.length * 2);
			copy.set(array);
			return copy;
		};
		this.parent = larger(this.parent);
		this.label = larger(this.label);
		this.self = this.self.map(larger);
		this.total = this.total.map(larger);
	}

	rehash() {
		const slots = new Int32Array(this.slots.length * 2), mask = slots.length - 1;
		for (let node = 1; node < this.count; node++) {
			let at = (Math.imul(this.parent[node], 0x9e3779b1) ^ Math.imul(this.label[node] + 1, 0x85ebca6b)) >>> 0;
			for (at = (at ^ at >>> 15) & mask; slots[at]; at = (at + 1) & mask);
			slots[at] = node;
		}
		this.slots = slots;
	}

	// Totals, widths and lists of children; no node may be added any more.
	finish(widthOf) {
		const n = this.count;
		for (const side of [0, 1]) {
			const total = this.total[side], self = this.self[side];
			for (let i = n - 1; i >= 0; i--) {
				total[i] += self[i];
				if (i)
					total[this.parent[i]] += total[i];
			}
		}
		this.width = new Float64Array(n);
		for (let i = 0; i < n; i++)
			this.width[i] = widthOf(this.total[0][i], this.total[1][i]);
		this.first = new Int32Array(n + 1);
		for (let i = 1; i < n; i++)
			this.first[this.parent[i] + 1]++;
		for (let i = 0; i < n; i++)
			this.first[i + 1] += this.first[i];
		const next = this.first.slice();
		this.childList = new Int32Array(n);
		for (let i = 1; i < n; i++)
			this.childList[next[this.parent[i]]++] = i;
		this.sorted = new Uint8Array(n);
		this.slots = null;
		return this;
	}

	// The widest first.
	children(node) {
		const list = this.childList.subarray(this.first[node], this.first[node + 1]);
		if (!this.sorted[node]) {
			if (list.length > 1)
				list.sort((a, b) => this.width[b] - this.width[a] || a - b);
			this.sorted[node] = 1;
		}
		return list;
	}

	depth(node) {
		let depth = 0;
		for (; node > 0; node = this.parent[node])
			depth++;
		return depth;
	}
}

// The own weights of all stacks under the filters of a view, before (or the only ones) and after.
function weigh(p, view) {
	const w = { self: [new Float64Array(p.count), new Float64Array(p.count)], none: [0, 0], all: [0, 0], idle: null };
	w.idle = [new Float64Array(p.count), new Float64Array(p.count)];
	const values = view.weight === "samples" ? p.sampleCount : p.sampleNs;
	const wanted = p.threads.map((thread, i) => isWanted(thread, i, view.thread));
	const sides = p.threads.map((thread) => p.processes[thread.process] && p.processes[thread.process].run ? 1 : 0);
	for (let i = 0; i < values.length; i++) {
		const thread = p.sampleThread[i], side = sides[thread], idle = p.sampleFlags[i] & IDLE;
		if (!wanted[thread] || (idle && !view.idle))
			continue;
		w.all[side] += values[i];
		if (p.sampleStack[i] < 0)
			w.none[side] += values[i];
		else
			(idle ? w.idle : w.self)[side][p.sampleStack[i]] += values[i];
	}
	return w;
}

// "": all; "p3": a process; "t7": a thread; "n:NAME": threads of that name.
function isWanted(thread, index, choice) {
	if (!choice)
		return true;
	if (choice.startsWith("n:"))
		return thread.name === choice.slice(2);
	return choice === "p" + thread.process || choice === "t" + index;
}

// For each stack its label, -1 for one that is not shown.
function shownLabels(p, labels, view) {
	const shown = new Int32Array(p.count);
	const hides = labels.list.map((label) => !view.native && label.kind !== KIND_PYTHON && label.kind !== KIND_MARK);
	for (let i = 0; i < p.count; i++) {
		const label = labels.ofFrame[p.frame[i]];
		shown[i] = hides[label] ? -1 : label;
	}
	return shown;
}

function liveStacks(p, w) {
	const live = new Uint8Array(p.count);
	for (let i = p.count - 1; i >= 0; i--) {
		live[i] |= w.self[0][i] || w.self[1][i] || w.idle[0][i] || w.idle[1][i] ? 1 : 0;
		if (live[i] && p.parent[i] >= 0)
			live[p.parent[i]] = 1;
	}
	return live;
}

// Callers outside, callees inside; with a focus what it calls, wherever it was called.
function buildDown(p, labels, view, w, focus) {
	const tree = new Tree(p.count + 64), shown = shownLabels(p, labels, view), live = liveStacks(p, w);
	const merges = view.group === "module" || view.group === "file";
	const place = new Int32Array(p.count);
	for (let i = 0; i < p.count; i++) {
		if (!live[i])
			continue;
		let node = p.parent[i] < 0 ? (focus < 0 ? 0 : -1) : place[p.parent[i]];
		if (node < 0 && shown[i] === focus)
			node = 0;
		if (node >= 0 && shown[i] >= 0 && !(merges && tree.label[node] === shown[i]))
			node = tree.child(node, shown[i]);
		place[i] = node;
		for (const side of [0, 1]) {
			if (node < 0)
				continue;
			tree.self[side][node] += w.self[side][i];
			if (w.idle[side][i]) {
				const waiting = tree.child(node, labels.waiting);
				tree.self[side][waiting] += w.idle[side][i];
			}
		}
	}
	if ((w.none[0] || w.none[1]) && focus < 0) {
		const node = tree.child(0, labels.none);
		tree.self[0][node] = w.none[0];
		tree.self[1][node] = w.none[1];
	}
	return tree;
}

// What ran outside, its callers inside; with a focus only the callers of that.
function buildUp(p, labels, view, w, focus) {
	const tree = new Tree(p.count + 64), shown = shownLabels(p, labels, view);
	const merges = view.group === "module" || view.group === "file";
	const ends = [Float64Array.from(w.self[0], (x, i) => x + w.idle[0][i]), Float64Array.from(w.self[1], (x, i) => x + w.idle[1][i])];
	if (focus >= 0) {
		// Weights move out to the outermost frame of the focus, so that recursion counts once.
		const outermost = new Int32Array(p.count);
		for (let i = 0; i < p.count; i++) {
			const above = p.parent[i] < 0 ? -1 : outermost[p.parent[i]];
			outermost[i] = above >= 0 ? above : shown[i] === focus ? i : -1;
			for (const side of [0, 1]) {
				const weight = ends[side][i];
				ends[side][i] = 0;
				if (outermost[i] >= 0)
					ends[side][outermost[i]] += weight;
			}
		}
	}
	for (let i = 0; i < p.count; i++) {
		if (!ends[0][i] && !ends[1][i])
			continue;
		let node = 0;
		for (let s = i; s >= 0; s = p.parent[s])
			if (shown[s] >= 0 && !(merges && tree.label[node] === shown[s]))
				node = tree.child(node, shown[s]);
		tree.self[0][node] += ends[0][i];
		tree.self[1][node] += ends[1][i];
	}
	if ((w.none[0] || w.none[1]) && focus < 0) {
		const node = tree.child(0, labels.none);
		tree.self[0][node] = w.none[0];
		tree.self[1][node] = w.none[1];
	}
	return tree;
}

// Own and total weights of each label; a function that is several times on a stack counts once.
function tally(tree, labels) {
	const n = labels.list.length, onPath = new Int32Array(n);
	const pair = () => [new Float64Array(n), new Float64Array(n)];
	// alone: own, but for waiting, which has a label of its own there.
	const sums = { self: pair(), alone: pair(), total: pair() };
	const enter = (node) => {
		const label = tree.label[node];
		if (label < 0)
			return;
		// Waiting is its function's own time too.
		const own = label === labels.waiting ? tree.label[tree.parent[node]] : label;
		for (let side = 0; side < 2; side++) {
			sums.alone[side][label] += tree.self[side][node];
			if (own >= 0)
				sums.self[side][own] += tree.self[side][node];
			if (!onPath[label])
				sums.total[side][label] += tree.total[side][node];
		}
		onPath[label]++;
	};
	const next = tree.first.slice();
	let node = 0;
	for (;;) {
		if (next[node] < tree.first[node + 1]) {
			node = tree.childList[next[node]++];
			enter(node);
			continue;
		}
		if (!node)
			break;
		onPath[tree.label[node]]--;
		node = tree.parent[node];
	}
	return sums;
}

// The weight of a node that is its own: not of a callee, but of its waiting.
function ownOf(tree, labels, node, side) {
	let own = tree.self[side][node];
	if (tree.label[node] !== labels.waiting)
		for (const child of tree.children(node))
			if (tree.label[child] === labels.waiting)
				own += tree.self[side][child];
	return own;
}

// The weight of the stacks that have one of the labels in them.
function matchedWeight(tree, hits, side) {
	const below = new Uint8Array(tree.count);
	let sum = 0;
	for (let node = 1; node < tree.count; node++) {
		const hit = hits[tree.label[node]];
		if (hit && !below[tree.parent[node]])
			sum += tree.total[side][node];
		below[node] = hit || below[tree.parent[node]];
	}
	return sum;
}
