// Drops files on the page of examples/web in a real browser, and asserts what is shown. The histograms are NumPy's, the values those
// that the bytes were made of or that `testdata` was made with. Needs chromium and puppeteer-core (NODE_PATH).
import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(`${process.env.NODE_PATH}/`);
const puppeteer = require('puppeteer-core');
const root = path.join(import.meta.dirname, '..');
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

const asked = [];
const server = http.createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  const name = request.url === '/' ? 'index.html' : path.basename(request.url);
  const type = types[path.extname(name)];
  if (!type) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': type });
  createReadStream(path.join(root, 'examples/web/page', name)).pipe(response);
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const origin = `http://127.0.0.1:${server.address().port}`;

const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
let failed = 0;
let passed = 0;
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1100, height: 1400 });
  const requests = [];
  const complaints = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  await page.goto(origin);
  await page.waitForSelector('html[data-ready=yes]');
  const before = requests.length;

  /** Drops a file as a user would, and waits until it is shown or refused. */
  const drop = async (name, bytes) => {
    await page.evaluate((name, base64) => {
      document.getElementById('name').textContent = '';
      document.getElementById('error').hidden = true;
      const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes], name));
      document.getElementById('drop').dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }, name, bytes.toString('base64'));
    await page.waitForFunction((name) => document.getElementById('name').textContent === name || !document.getElementById('error').hidden, {}, name);
  };
  const dropFile = async (name) => drop(path.basename(name), await readFile(path.join(root, 'testdata', name)));
  const text = (selector) => page.$eval(selector, (element) => element.textContent);
  const isShown = (selector) => page.$eval(selector, (element) => element.checkVisibility());
  const cells = (selector) => page.$$eval(`${selector} tr`, (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const ask = async (slice) => {
    await page.$eval('#slice', (input, slice) => { input.value = slice; }, slice);
    await page.click('#ask button');
  };
  const npy = (descr, shape, data, fortran = false) => {
    const head = `{'descr': ${descr}, 'fortran_order': ${fortran ? 'True' : 'False'}, 'shape': ${shape}, }\n`;
    const length = Buffer.alloc(2);
    length.writeUInt16LE(head.length);
    return Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), length, Buffer.from(head), Buffer.from(data.buffer)]);
  };
  const check = async (name, work) => {
    try {
      await work();
      passed += 1;
    } catch (error) {
      failed += 1;
      console.error(`${name}: ${error.message}\n${error.stack}`);
    }
  };

  let matrix;
  await check('a matrix, its table, numbers, histogram and picture', async () => {
    const numbers = Float64Array.from({ length: 12 }, (_, index) => index);
    numbers[11] = NaN;
    matrix = npy("'<f8'", '(3, 4)', numbers);
    await drop('matrix.npy', matrix);
    assert.equal(await text('#format'), `NPY 1.0, ${matrix.length} bytes`);
    assert.deepEqual((await cells('#arrays'))[1].slice(1, 4), ["'<f8'", '(3, 4)', 'C']);
    assert.deepEqual(await cells('#table'), [['0.0', '1.0', '2.0', '3.0'], ['4.0', '5.0', '6.0', '7.0'], ['8.0', '9.0', '10.0', 'NaN']]);
    const statistics = await page.$$eval('#statistics div', (all) => Object.fromEntries(all.map((one) => [one.dataset.name, one.querySelector('dd').textContent])));
    assert.deepEqual(statistics, { count: '12', 'not finite': '1', minimum: '0.0', maximum: '10.0', mean: '5' });
    const counts = await page.$$eval('#histogram rect', (bars) => bars.map((bar) => Number(bar.dataset.count)));
    // numpy.histogram(numpy.arange(11), 32)
    const wanted = Array(32).fill(0);
    [0, 3, 6, 9, 12, 16, 19, 22, 25, 28, 31].forEach((bar) => { wanted[bar] += 1; });
    assert.deepEqual(counts, wanted);
    const corners = await page.$eval('#picture canvas', (canvas) => [0, 2, 3].map((x) => [...canvas.getContext('2d').getImageData(x, x && 2, 1, 1).data]));
    assert.deepEqual(corners, [[68, 1, 84, 255], [253, 231, 37, 255], [0, 0, 0, 0]]);
    if (process.env.NDARRAY_IO_PICTURE) await page.screenshot({ path: process.env.NDARRAY_IO_PICTURE });
  });
  await check('numbers that are near an edge or beyond what a float holds', async () => {
    await drop('range.npy', npy("'<i8'", '(97,)', BigInt64Array.from({ length: 97 }, (_, index) => BigInt(index + 1))));
    const counts = await page.$$eval('#histogram rect', (bars) => bars.map((bar) => Number(bar.dataset.count)));
    assert.deepEqual(counts, [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4]); // numpy.histogram(numpy.arange(1, 98), 32)
    await drop('large.npy', npy("'<i8'", '(2,)', BigInt64Array.from([9007199254740993n, -9007199254740993n])));
    assert.equal(await text('[data-name=maximum] dd'), '9007199254740993');
    assert.equal(await text('[data-name=minimum] dd'), '-9007199254740993');
    await drop('far.npy', npy("'<f8'", '(1, 3)', Float64Array.from([-1.7e308, 0, 1.7e308])));
    const ends = await page.$eval('#picture canvas', (canvas) => [0, 1, 2].map((x) => [...canvas.getContext('2d').getImageData(x, 0, 1, 1).data]));
    assert.deepEqual(ends, [[68, 1, 84, 255], [33, 145, 140, 255], [253, 231, 37, 255]]);
  });
  await check('slices', async () => {
    await drop('matrix.npy', matrix);
    await ask('1:, ::-2');
    assert.equal(await text('#title'), "'<f8' (2, 2)");
    assert.deepEqual(await cells('#table'), [['7.0', '5.0'], ['NaN', '9.0']]);
    await ask('0');
    assert.deepEqual(await cells('#table'), [['0.0'], ['1.0'], ['2.0'], ['3.0']]);
    assert.equal(await isShown('#line'), true);
    assert.equal(await isShown('#picture'), false);
    await ask('9');
    assert.equal(await isShown('#part'), false);
    assert.match(await text('#wrong'), /9/);
    await ask('-1, 0');
    assert.deepEqual(await cells('#table'), [['8.0']]);
  });
  await check('big-endian and Fortran', async () => {
    const bytes = Buffer.alloc(12);
    [1, 2, 3, 4, 5, 6].forEach((number, index) => bytes.writeInt16BE(number, 2 * index));
    await drop('big.npy', npy("'>i2'", '(2, 3)', new Uint8Array(bytes), true));
    assert.deepEqual(await cells('#table'), [['1', '3', '5'], ['2', '4', '6']]);
  });
  await check('an archive and its members', async () => {
    await dropFile('archive-deflated.npz');
    assert.match(await text('#format'), /^NPZ, /);
    const rows = (await cells('#arrays')).slice(1);
    assert.ok(rows.length >= 2, JSON.stringify(rows));
    assert.ok(rows.some((row) => row[5].includes('deflated')), JSON.stringify(rows));
    for (let index = 0; index < rows.length; index += 1) {
      await page.$eval(`#arrays tbody tr:nth-child(${index + 1})`, (row) => row.click());
      assert.equal(await text('#title'), `${rows[index][1]} ${rows[index][2]}`);
    }
  });
  await check('RA', async () => {
    await dropFile('ra/page.ra');
    assert.match(await text('#format'), /^RA, 16\d bytes$/);
    // The element k is k - i / k, counted down the columns.
    const table = await cells('#table');
    assert.deepEqual([table.length, table[0].length], [3, 4]);
    assert.deepEqual([table[0][1], table[1][1]], ['3.0-0.33333334i', '4.0-0.25i']);
  });
  await check('fields of records', async () => {
    await dropFile('record-aligned.npy');
    assert.equal(await isShown('#fields'), true);
    await page.select('#field', 'tail');
    await ask('');
    assert.match(await text('#title'), /^'<i2'/);
  });
  await check('what is no array is refused in words', async () => {
    await drop('notes.txt', Buffer.from('just a note'));
    assert.equal(await isShown('main'), false);
    assert.match(await text('#error'), /expected an NPY file, found text: "just a note"/);
    await drop('bomb.npy', npy("'<f8'", '(1000000000000,)', new Uint8Array(8)));
    assert.equal(await isShown('#part'), false);
    assert.equal(await isShown('#error'), true);
  });
  await check('nothing left the page', async () => {
    assert.deepEqual(requests.slice(before), []);
    assert.deepEqual(asked.filter((line) => !line.startsWith('GET ')), []);
    assert.ok(requests.every((url) => url.startsWith(origin) || url.startsWith('data:')), requests.join('\n'));
    assert.deepEqual(complaints, []);
  });
} finally {
  await browser.close();
  server.close();
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
