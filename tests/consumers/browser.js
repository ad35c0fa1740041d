// SPDX-License-Identifier: MIT
// browser.js: Chromium with a page that may not ask for anything outside of the machine.
"use strict";
const fs = require("fs");
const http = require("http");
const os = require("os");
const path = require("path");
const { chromium } = require("playwright-core");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync"];

// Serves the files of a folder on a port of its own: some pages do not run from a file.
async function serve(folder) {
	const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm" };
	const server = http.createServer((request, response) => {
		const name = path.join(folder, path.normalize(decodeURIComponent(request.url.split("?")[0])));
		fs.readFile(name, (error, data) => {
			response.writeHead(error ? 404 : 200, { "Content-Type": types[path.extname(name)] || "application/octet-stream" });
			response.end(error ? "" : data);
		});
	});
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	return { address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

// Opens a page for work(page); what it threw or asked for elsewhere is in errors and requests, which are returned with the result.
async function withPage(viewport, work) {
	const profile = fs.mkdtempSync(path.join(os.tmpdir(), "browser-"));
	const context = await chromium.launchPersistentContext(profile, { executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: FLAGS, viewport });
	const errors = [];
	const requests = [];
	try {
		const page = await context.newPage();
		page.setDefaultTimeout(30000);
		page.on("pageerror", (error) => errors.push(String(error)));
		page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
		page.on("dialog", (dialog) => { errors.push("dialog: " + dialog.message()); dialog.dismiss(); });
		page.on("request", (request) => {
			if (!/^(file|data|blob):|^http:\/\/127\.0\.0\.1:/.test(request.url()))
				requests.push(request.url());
		});
		return { result: await work(page), errors, requests };
	} finally {
		await context.close();
		fs.rmSync(profile, { recursive: true, force: true });
	}
}

// Runs main and prints what it returns as JSON.
function run(main) {
	main(...process.argv.slice(2)).then((value) => console.log(JSON.stringify(value)), (error) => {
		console.error(error);
		process.exitCode = 1;
	});
}

module.exports = { serve, withPage, run };
