// SPDX-License-Identifier: MIT
// speedscope_page.js FOLDER FILE: the real page, in FOLDER, imports FILE; prints its list of profiles with their weights, and the
// rows of the sandwich view of each: [total, own, name].
"use strict";
const { serve, withPage, run } = require("./browser.js");

const rowsOf = (page) => page.$$eval("tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));

run(async (folder, file) => {
	const server = await serve(folder);
	try {
		return await withPage({ width: 1400, height: 3000 }, async (page) => {
			await page.goto(server.address + "/index.html");
			await page.setInputFiles("input[type=file]", file);
			await page.getByText("Sandwich").click();
			await page.getByText("Symbol Name").waitFor();
			const rows = await rowsOf(page);
			const profiles = rows.slice(1, rows.findIndex((row) => row.includes("Symbol Name")));
			const sandwiches = [];
			// Of a single profile there is no list.
			for (let i = 1; i <= Math.max(profiles.length, 1); i++) {
				if (profiles.length > 1)
					await page.getByText(`(${i}/${profiles.length})`).waitFor();
				const shown = await rowsOf(page);
				sandwiches.push(shown.slice(shown.findIndex((row) => row.includes("Symbol Name")) + 1));
				await page.keyboard.press("n");
			}
			return { profiles: profiles.map((row) => row.slice(1)), sandwiches };
		});
	} finally {
		server.close();
	}
});
