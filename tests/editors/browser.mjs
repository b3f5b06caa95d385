// A headless browser that does what a person would: one command per line in, one answer per line out.
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-renderer-backgrounding', '--disable-background-timer-throttling', '--disable-backgrounding-occluded-windows', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'];
const server = await chromium.launchServer({ executablePath: process.argv[2], args: FLAGS });
const browser = await chromium.connect(server.wsEndpoint());
const pages = new Map();

const commands = {
  async open({ page: name, url }) {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
    page.on('dialog', dialog => dialog.accept());
    pages.set(name, page);
    await page.goto(url);
    await page.waitForSelector('.monaco-workbench', { timeout: 90_000 });
  },
  async reload({ page }) { await pages.get(page).reload(); },
  async close({ page }) { await pages.get(page).close(); pages.delete(page); },
  async kill() { server.process().kill('SIGKILL'); setTimeout(() => process.exit(0), 100); },
  async shot({ page, path }) { await pages.get(page).screenshot({ path }); },
  async click({ page, selector }) { await pages.get(page).locator(selector).first().click({ timeout: 60_000 }); },
  async press({ page, keys }) { for (const key of keys) await pages.get(page).keyboard.press(key); },
  async type({ page, text }) { await pages.get(page).keyboard.type(text); },
  async wait({ page, selector }) { await pages.get(page).locator(selector).first().waitFor({ timeout: 60_000 }); },
  async text({ page, selector }) { return pages.get(page).locator(selector).allInnerTexts(); },
};

console.log(JSON.stringify({ ready: true, pid: server.process().pid }));
for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...params } = JSON.parse(line);
  try { console.log(JSON.stringify({ result: await commands[command](params) ?? null })); } catch (problem) { console.log(JSON.stringify({ error: problem.message })); }
}
await Promise.race([browser.close().catch(() => {}), new Promise(resolve => setTimeout(resolve, 2000))]);
server.process().kill('SIGKILL');
process.exit(0);
