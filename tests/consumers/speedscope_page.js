// SPDX-License-Identifier: MIT
// speedscope_page.js FOLDER FILE: the real page imports FILE; prints for each profile the rows of its sandwich view.
"use strict";
const { serve, withPage, run } = require("./browser.js");

const rowsOf = (page) => page.$$eval("table tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim())));

run(async (folder, file) => {
	const server = await serve(folder);
	try {
		return await withPage({ width: 1400, height: 6000 }, async (page) => {
			await page.goto(server.address + "/index.html");
			await page.setInputFiles("input[type=file]", file);
			await page.getByText("Sandwich").click();
			await page.waitForSelector("table tr td");
			return await rowsOf(page);
		});
	} finally {
		server.close();
	}
});
