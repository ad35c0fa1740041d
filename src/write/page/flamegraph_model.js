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
	const every = (array, step, at, type) => {
		const column = new type(array.length / step);
		for (let i = 0; i < column.length; i++)
			column[i] = array[i * step + at];
		return column;
	};
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
	indexChildren(p);
	p.sampleStack = every(data.samples, 5, 0, Int32Array).map((stack) => stack - 1);
	p.sampleThread = every(data.samples, 5, 1, Uint32Array);
	p.sampleFlags = every(data.samples, 5, 2, Uint8Array);
	p.sampleCount = every(data.samples, 5, 3, Float64Array);
	p.sampleNs = every(data.samples, 5, 4, Float64Array);
	p.hasIdle = p.sampleFlags.some((flags) => flags & IDLE);
	p.hasNative = p.functions.some((f) => f.kind !== KIND_PYTHON && f.kind !== KIND_MARK);
	return p;
}

// The stacks that continue each stack, as slices of one list; and how deep each is.
function indexChildren(p) {
	p.firstChild = new Int32Array(p.count + 1);
	p.depth = new Int32Array(p.count);
	p.outermost = [];
	for (let i = 0; i < p.count; i++) {
		const parent = p.parent[i];
		p.depth[i] = parent < 0 ? 0 : p.depth[parent] + 1;
		if (parent < 0)
			p.outermost.push(i);
		else
			p.firstChild[parent + 1]++;
	}
	for (let i = 0; i < p.count; i++)
		p.firstChild[i + 1] += p.firstChild[i];
	const next = p.firstChild.slice();
	p.childList = new Int32Array(p.count);
	for (let i = 0; i < p.count; i++)
		if (p.parent[i] >= 0)
			p.childList[next[p.parent[i]]++] = i;
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

// The own weights of all stacks under the filters of a view, before (or the only ones) and after.
function weigh(p, view) {
	const pair = () => [new Float64Array(p.count), new Float64Array(p.isDiff ? p.count : 0)];
	const w = { self: pair(), idle: pair(), total: pair(), none: [0, 0], all: [0, 0], sides: p.isDiff ? [0, 1] : [0] };
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
	for (const side of w.sides) {
		const total = w.total[side], self = w.self[side], idle = w.idle[side];
		for (let i = p.count - 1; i >= 0; i--) {
			total[i] += self[i] + idle[i];
			if (p.parent[i] >= 0)
				total[p.parent[i]] += total[i];
		}
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

// What the trees below have in common: a node is a number, its parent's is lower, 0 is the root. Nodes come into being when their parent's
// children are asked for, since most of a large tree is too narrow to be seen.
class Tree {
	constructor(p, labels, view, w, shown, widthOf) {
		Object.assign(this, { p, w, widthOf, shown, none: labels.none, waiting: labels.waiting });
		this.merges = view.group === "module" || view.group === "file";
		this.parent = [-1];
		this.label = [-1];
		this.self = [[0], [0]];
		this.total = [[0], [0]];
		this.width = [0];
		this.kids = [null];
		this.members = [[]];
		this.made = new Int32Array(labels.list.length);
		this.madeFor = new Int32Array(labels.list.length).fill(-1);
	}

	// The child of a node that is being expanded, made when there is none yet.
	child(node, label) {
		if (this.madeFor[label] === node)
			return this.made[label];
		const id = this.parent.length;
		this.madeFor[label] = node;
		this.made[label] = id;
		this.parent.push(node);
		this.label.push(label);
		for (const side of [0, 1]) {
			this.self[side].push(0);
			this.total[side].push(0);
		}
		this.width.push(0);
		this.kids.push(null);
		this.members.push([]);
		this.kids[node].push(id);
		return id;
	}

	// A child without children of its own.
	leaf(node, label, before, after) {
		const id = this.child(node, label);
		for (const [side, weight] of [[0, before], [1, after]]) {
			this.self[side][id] += weight;
			this.total[side][id] += weight;
		}
	}

	// The widest first.
	children(node) {
		if (!this.kids[node]) {
			this.kids[node] = [];
			this.expand(node, this.members[node]);
			this.members[node] = null;
			for (const kid of this.kids[node])
				this.width[kid] = this.widthOf(this.total[0][kid], this.total[1][kid]);
			this.kids[node].sort((a, b) => this.width[b] - this.width[a] || a - b);
		}
		return this.kids[node];
	}

	// The root weighs what its children do.
	finish(focus) {
		this.focus = focus;
		for (const kid of this.children(0))
			for (const side of this.w.sides)
				this.total[side][0] += this.total[side][kid];
		this.width[0] = this.widthOf(this.total[0][0], this.total[1][0]);
		return this;
	}

	addNone() {
		if (this.w.none[0] || this.w.none[1])
			this.leaf(0, this.none, this.w.none[0], this.w.none[1]);
	}

	ownOf(node, side) {
		this.children(node);
		return this.self[side][node];
	}

	depth(node) {
		let depth = 0;
		for (; node > 0; node = this.parent[node])
			depth++;
		return depth;
	}
}

// Callers outside, callees inside; with a focus what it calls, wherever it was called. Members are the stacks that end in the node.
class DownTree extends Tree {
	add(node, stack) {
		const { p, w } = this;
		if (!w.total[0][stack] && !w.total[1][stack])
			return;
		const kid = this.child(node, this.shown[stack]);
		this.members[kid].push(stack);
		for (const side of w.sides)
			this.total[side][kid] += w.total[side][stack];
	}

	expand(node, members) {
		const { p, w, shown } = this;
		const isPart = (stack) => shown[stack] < 0 || (this.merges && shown[stack] === this.label[node]);
		const within = node ? members.slice() : [];
		if (!node && this.focus >= 0) {
			for (const stack of outermostOf(p, shown, this.focus).list)
				this.add(node, stack);
			return;
		}
		const take = (stack) => isPart(stack) ? within.push(stack) : this.add(node, stack);
		if (!node)
			p.outermost.forEach(take);
		for (let i = 0; i < within.length; i++) {
			const stack = within[i];
			for (const side of w.sides) {
				this.self[side][node] += w.self[side][stack] + w.idle[side][stack];
				if (!node)
					this.total[side][0] += w.self[side][stack];
			}
			if (w.idle[0][stack] || w.idle[1][stack])
				this.leaf(node, this.waiting, w.idle[0][stack], w.idle[1][stack] || 0);
			for (let k = p.firstChild[stack]; k < p.firstChild[stack + 1]; k++)
				take(p.childList[k]);
		}
		if (!node)
			this.addNone();
	}
}

// What ran outside, its callers inside; with a focus only the callers of that. Members are triples: a stack, whose last frame is the node's,
// and the weights that came from it.
class UpTree extends Tree {
	add(node, stack, before, after) {
		const kid = this.child(node, this.shown[stack]);
		this.members[kid].push(stack, before, after);
		this.total[0][kid] += before;
		this.total[1][kid] += after;
	}

	expand(node, members) {
		const { p, shown } = this;
		if (!node) {
			this.expandRoot();
			return;
		}
		for (let i = 0; i < members.length; i += 3) {
			let stack = p.parent[members[i]];
			while (stack >= 0 && (shown[stack] < 0 || (this.merges && shown[stack] === this.label[node])))
				stack = p.parent[stack];
			if (stack >= 0)
				this.add(node, stack, members[i + 1], members[i + 2]);
			for (const side of stack < 0 ? [0, 1] : [])
				this.self[side][node] += members[i + 1 + side];
		}
	}

	expandRoot() {
		const { p, w, shown } = this;
		if (this.focus >= 0) {
			for (const stack of outermostOf(p, shown, this.focus).list)
				if (w.total[0][stack] || w.total[1][stack])
					this.add(0, stack, w.total[0][stack], w.total[1][stack] || 0);
			return;
		}
		for (let i = 0; i < p.count; i++) {
			const before = w.self[0][i] + w.idle[0][i], after = w.self[1][i] + w.idle[1][i] || 0;
			if (!before && !after)
				continue;
			let stack = i;
			while (stack >= 0 && shown[stack] < 0)
				stack = p.parent[stack];
			if (stack >= 0)
				this.add(0, stack, before, after);
			for (const side of stack < 0 ? w.sides : []) {
				this.self[side][0] += side ? after : before;
				this.total[side][0] += side ? after : before;
			}
		}
		this.addNone();
	}
}

// Stacks that end in a label and have it nowhere further out: recursion counts once. below: for all stacks, whether it is in them.
function outermostOf(p, shown, label) {
	const below = new Uint8Array(p.count), list = [];
	for (let i = 0; i < p.count; i++) {
		if (p.parent[i] >= 0 && below[p.parent[i]]) {
			below[i] = 1;
		} else if (shown[i] === label) {
			below[i] = 1;
			list.push(i);
		}
	}
	return { list, below };
}

// Own and total weights of each label; a function that is several times on a stack counts once.
function tally(p, labels, w, shown) {
	const n = labels.list.length, pair = () => [new Float64Array(n), new Float64Array(n)];
	// alone: own, but for waiting, which has a label of its own there.
	const sums = { self: pair(), alone: pair(), total: pair() };
	addOwn(p, labels, w, shown, sums);
	// The labels on the way to the stack at hand; stacks mostly follow those that they continue.
	const onPath = new Int32Array(n), path = new Int32Array(p.depth.reduce((most, depth) => Math.max(most, depth), 0) + 1);
	let length = 0;
	const pop = () => {
		const label = shown[path[--length]];
		if (label >= 0)
			onPath[label]--;
	};
	const push = (stack) => {
		path[length++] = stack;
		if (shown[stack] >= 0)
			onPath[shown[stack]]++;
	};
	// Makes a stack the end of the path.
	const moveTo = (end) => {
		const missing = [];
		let stack = end;
		while (length > p.depth[end] + 1)
			pop();
		for (; stack >= 0 && !(p.depth[stack] < length && path[p.depth[stack]] === stack); stack = p.parent[stack])
			missing.push(stack);
		while (length > (stack < 0 ? 0 : p.depth[stack] + 1))
			pop();
		while (missing.length)
			push(missing.pop());
	};
	const [before, after] = w.total, [sumBefore, sumAfter] = sums.total;
	for (let i = 0; i < p.count; i++) {
		if (!before[i] && !after[i])
			continue;
		const parent = p.parent[i], label = shown[i];
		if (parent < 0)
			while (length)
				pop();
		else if (path[length - 1] !== parent)
			moveTo(parent);
		if (label >= 0 && !onPath[label]) {
			sumBefore[label] += before[i];
			if (p.isDiff)
				sumAfter[label] += after[i];
		}
		push(i);
	}
	return sums;
}

// A frame that is not shown leaves its own weight to the next one outside.
function addOwn(p, labels, w, shown, sums) {
	const holder = new Int32Array(p.count);
	for (let i = 0; i < p.count; i++) {
		const label = shown[i] >= 0 ? shown[i] : p.parent[i] >= 0 ? holder[p.parent[i]] : -1;
		holder[i] = label;
		for (let side = 0; label >= 0 && side < w.sides.length; side++) {
			const own = w.self[side][i], idle = w.idle[side][i];
			sums.self[side][label] += own + idle;
			sums.alone[side][label] += own;
			sums.alone[side][labels.waiting] += idle;
		}
	}
	for (const side of w.sides)
		for (const kind of ["self", "alone", "total"])
			sums[kind][side][labels.none] += w.none[side];
}

// The weight of the stacks that have one of the labels in them.
function matchedWeight(p, labels, w, shown, hits, side) {
	const below = new Uint8Array(p.count), total = w.total[side];
	let sum = hits[labels.none] ? w.none[side] : 0;
	for (let i = 0; i < p.count; i++) {
		const parent = p.parent[i];
		if (parent >= 0 && below[parent]) {
			below[i] = 1;
		} else if (shown[i] >= 0 && hits[shown[i]]) {
			below[i] = 1;
			sum += total[i];
		} else if (hits[labels.waiting]) {
			sum += w.idle[side][i];
		}
	}
	return sum;
}
