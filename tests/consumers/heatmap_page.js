// SPDX-License-Identifier: MIT
// heatmap_page.js FILE: opens a heat map, goes through its files and jumps; prints what is shown, in samples.
"use strict";
const { withPage, run } = require("./browser.js");

const rowsOf = (page, table) => page.$$eval(`#${table} tbody tr`, (rows) => rows.map((row) => ({
	chosen: row.classList.contains("chosen"),
	own: parseInt(row.cells[0].title.replace(/,/g, ""), 10) || 0,
	total: parseInt(row.cells[1].title.replace(/,/g, ""), 10) || 0,
	line: row.cells.length > 3 ? parseInt(row.cells[2].textContent, 10) || 0 : 0,
	text: (row.querySelector("td.code") || row.cells[2]).firstChild.textContent,
	jumps: [...row.querySelectorAll(".jumps a, .jumps span")].map((jump) => jump.textContent),
})));

const place = (page) => page.evaluate(() => [document.getElementById("path").textContent, location.hash]);

run((file) => withPage({ width: 1300, height: 900 }, async (page) => {
	await page.goto("file://" + file);
	await page.selectOption("#weight", "samples");
	const shown = { title: await page.title(), first: await place(page), hottest: await rowsOf(page, "hottest"), files: await rowsOf(page, "files"), sources: {} };
	for (let i = 0; i < shown.files.length; i++) {
		await page.evaluate((id) => { location.hash = `#weight=samples&file=${id}&line=0`; }, i);
		await page.waitForFunction((id) => location.hash.includes(`file=${id}&`) && document.getElementById("path").textContent === files[id].path, i);
		shown.sources[(await place(page))[0]] = { note: await page.textContent("#note"), rows: await rowsOf(page, "source") };
	}
	// From the hottest line of the first file to a function that is called there, and back.
	await page.evaluate(() => { location.hash = ""; });
	await page.selectOption("#sort", "total");
	const callee = page.locator("#source .jumps a", { hasText: "→" }).first();
	if (await callee.count()) {
		const before = await place(page);
		await callee.click();
		await page.waitForFunction((hash) => location.hash !== hash, before[1]);
		const after = await place(page);
		await page.goBack();
		await page.waitForFunction((hash) => location.hash === hash, before[1]);
		shown.jump = { before, after, back: await place(page) };
	}
	const line = () => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get("line"));
	const start = await line();
	await page.keyboard.press("n");
	await page.keyboard.press("p");
	shown.steps = [start, await line()];
	await page.selectOption("#theme", "dark");
	shown.dark = await page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
	await page.setViewportSize({ width: 380, height: 700 });
	shown.overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
	return shown;
}));
