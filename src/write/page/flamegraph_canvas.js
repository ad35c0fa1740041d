// SPDX-License-Identifier: MIT
// A tree on a canvas: where frames lie, their colours, and which one is at a point.

const ROW = 19;
const NARROWEST = 0.7;
// Okabe and Ito's colours, which differ for all kinds of colour vision.
const KIND_COLOURS = ["#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#8da2b8", "#c9c2b4"];
const MODULE_COLOURS = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#cc79a7", "#5b9bd5", "#e8743b"];
const OTHER_COLOUR = "#b9bfc6";
// From gone to new, through the same.
const DIFF_COLOURS = ["#2f7fc1", "#6fabdb", "#b3d3ec", "#e4e1da", "#f5c9a4", "#ec975a", "#dd6a20"];

function shade(colour, by) {
	const part = (at) => {
		const value = parseInt(colour.slice(at, at + 2), 16);
		return Math.round(by < 0 ? value * (1 + by) : value + (255 - value) * by);
	};
	return "rgb(" + part(1) + "," + part(3) + "," + part(5) + ")";
}

function hashOf(text) {
	let hash = 2166136261;
	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	return hash >>> 0;
}

// A colour for each label, neighbours of one kind in shades; and the entries of the legend.
function makeColours(labels, sums, by, all) {
	const weightOf = (id) => sums.alone[0][id] + sums.alone[1][id];
	const legend = new Map();
	const give = (name, colour, id) => {
		const entry = legend.get(name) || { name, colour, weight: 0 };
		entry.weight += weightOf(id);
		legend.set(name, entry);
	};
	let ranked = null;
	if (by === "module") {
		const weights = new Map();
		labels.list.forEach((label, id) => weights.set(label.package, (weights.get(label.package) || 0) + weightOf(id)));
		ranked = [...weights].filter(([, weight]) => weight > 0).sort((a, b) => b[1] - a[1]).slice(0, MODULE_COLOURS.length).map(([name]) => name);
	}
	const colours = labels.list.map((label, id) => {
		let name = KINDS[label.kind], colour = KIND_COLOURS[label.kind];
		if (ranked) {
			const rank = ranked.indexOf(label.package);
			name = rank < 0 ? "others" : label.package;
			colour = rank < 0 ? OTHER_COLOUR : MODULE_COLOURS[rank];
		}
		if (sums.total[0][id] + sums.total[1][id] + weightOf(id) > 0)
			give(name, colour, id);
		return shade(colour, (hashOf(label.key) % 5) * 0.075);
	});
	const order = (entry) => ranked ? (entry.name === "others" ? 1e9 : -entry.weight) : KINDS.indexOf(entry.name);
	const entries = [...legend.values()].sort((a, b) => order(a) - order(b));
	entries.forEach((entry) => entry.share = all ? entry.weight / all : 0);
	return { colours, entries };
}

// How much more of the whole something takes afterwards: -1 it is gone, 0 the same, 1 it is new.
function change(before, after) {
	const larger = Math.max(before, after);
	return larger > 0 ? (after - before) / larger : 0;
}

function diffColour(before, after) {
	const c = change(before, after), steps = (DIFF_COLOURS.length - 1) / 2;
	const step = Math.abs(c) < 0.05 ? 0 : Math.sign(c) * Math.min(steps, Math.ceil(Math.abs(c) * steps));
	return DIFF_COLOURS[steps + step];
}

class FlameCanvas {
	constructor(canvas, scroll, spacer) {
		this.canvas = canvas;
		this.scroll = scroll;
		this.spacer = spacer;
		this.rects = [];
		this.selected = this.hovered = -1;
	}

	// What to show: { tree, root, colourOf(node), textOf(node), dims(node) or null, flame }.
	show(what) {
		this.what = what;
		this.place();
		this.paint();
	}

	// All frames wide enough to be seen, the callers of the root over its whole width.
	place() {
		const { tree, root } = this.what;
		this.width = this.scroll.clientWidth;
		const rects = this.rects = [];
		this.rectOf = new Map();
		const add = (node, x, w, depth) => {
			if (node >= 0)
				this.rectOf.set(node, rects.length);
			rects.push({ node, x, w, depth });
		};
		const depth = tree.depth(root);
		for (let node = root, d = depth; node >= 0; node = tree.parent[node], d--)
			add(node, 0, this.width, d);
		const scale = tree.width[root] > 0 ? this.width / tree.width[root] : 0;
		const open = [[root, 0, depth]];
		let deepest = depth;
		while (open.length) {
			const [node, left, d] = open.pop();
			let x = left, rest = 0;
			for (const child of tree.children(node)) {
				const w = tree.width[child] * scale;
				if (w < NARROWEST) {
					rest += w;
					continue;
				}
				add(child, x, w, d + 1);
				open.push([child, x, d + 1]);
				deepest = Math.max(deepest, d + 1);
				x += w;
			}
			if (rest >= NARROWEST) {
				add(-1, x, rest, d + 1);
				deepest = Math.max(deepest, d + 1);
			}
		}
		this.depth = deepest;
		this.height = (deepest + 1) * ROW;
		this.spacer.style.height = Math.max(this.height, this.scroll.clientHeight) + "px";
	}

	rowTop(depth) {
		const height = Math.max(this.height, this.scroll.clientHeight);
		return this.what.flame ? height - (depth + 1) * ROW : depth * ROW;
	}

	paint() {
		const { canvas, scroll, what } = this, ratio = window.devicePixelRatio || 1;
		const width = this.width, height = scroll.clientHeight;
		if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(height * ratio);
			canvas.style.width = width + "px";
			canvas.style.height = height + "px";
		}
		const style = getComputedStyle(document.documentElement);
		const css = (name) => style.getPropertyValue(name).trim();
		const colours = { dim: css("--dim"), rest: css("--rest"), mark: css("--mark"), text: css("--text"), faint: css("--faint"), page: css("--page") };
		const g = canvas.getContext("2d");
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.fillStyle = colours.page;
		g.fillRect(0, 0, width, height);
		g.font = "12px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
		g.textBaseline = "middle";
		this.letter = g.measureText("mmmmmmmmmm").width / 10;
		for (const rect of this.rects) {
			const y = this.rowTop(rect.depth) - scroll.scrollTop;
			if (y > -ROW && y < height)
				this.paintRect(g, rect, y, colours);
		}
		for (const [node, line] of [[this.hovered, 1], [this.selected, 2.5]])
			this.paintOutline(g, node, line, colours.mark);
	}

	paintRect(g, rect, y, colours) {
		const { what } = this, { node, x, w } = rect;
		const gap = w > 3 ? 1 : w > 1.5 ? 0.5 : 0;
		const isDim = node < 0 || what.dims(node);
		g.fillStyle = node < 0 ? colours.rest : isDim ? colours.dim : node ? what.colourOf(node) : colours.rest;
		g.fillRect(x, y, w - gap, ROW - 1);
		if (node >= 0 && w > 3 * this.letter) {
			g.fillStyle = !node || isDim ? (node ? colours.faint : colours.text) : "#14171b";
			const letters = Math.floor((w - 7) / this.letter), text = what.textOf(node);
			g.fillText(text.length > letters ? text.slice(0, Math.max(0, letters - 1)) + "…" : text, x + 3, y + ROW / 2);
		}
	}

	paintOutline(g, node, line, colour) {
		const rect = this.rects[this.rectOf.get(node)];
		if (!rect)
			return;
		g.strokeStyle = colour;
		g.lineWidth = line;
		g.strokeRect(rect.x + line / 2, this.rowTop(rect.depth) - this.scroll.scrollTop + line / 2, Math.max(1, rect.w - 1 - line), ROW - 1 - line);
	}

	// The frame at a point of the window, -1 for none.
	at(clientX, clientY) {
		const box = this.canvas.getBoundingClientRect();
		const x = clientX - box.left, y = clientY - box.top + this.scroll.scrollTop;
		for (const rect of this.rects) {
			const top = this.rowTop(rect.depth);
			if (y >= top && y < top + ROW && x >= rect.x && x < rect.x + rect.w)
				return rect.node;
		}
		return -1;
	}

	// Scrolls so that a frame can be seen.
	reveal(node) {
		const rect = this.rects[this.rectOf.get(node)];
		if (!rect)
			return;
		const top = this.rowTop(rect.depth), height = this.scroll.clientHeight;
		if (top < this.scroll.scrollTop)
			this.scroll.scrollTop = top - ROW;
		else if (top + ROW > this.scroll.scrollTop + height)
			this.scroll.scrollTop = top + 2 * ROW - height;
	}

	// The frame beside one on the same level, -1 for none.
	neighbour(node, step) {
		const rect = this.rects[this.rectOf.get(node)];
		if (!rect)
			return -1;
		const row = this.rects.filter((other) => other.depth === rect.depth && other.node >= 0).sort((a, b) => a.x - b.x);
		const at = row.indexOf(rect) + step;
		return at >= 0 && at < row.length ? row[at].node : -1;
	}

	firstChild(node) {
		for (const child of this.what.tree.children(node))
			if (this.rectOf.has(child))
				return child;
		return -1;
	}
}
