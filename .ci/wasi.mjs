// Runs a test program for wasm32-wasip1, with the folder of the project and one for temporary files: each test in an instance of its
// own, because a test that fails ends its instance.
import { WASI } from 'node:wasi';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

const [program, ...given] = process.argv.slice(2);
const folder = mkdtempSync('/tmp/wasi-');
const module = await WebAssembly.compile(await readFile(program));

/** What the program prints with these arguments, and how it ends. */
async function run(args) {
  const temporary = mkdtempSync(path.join(folder, 'tmp-'));
  const said = path.join(folder, 'said');
  const output = openSync(said, 'w');
  const wasi = new WASI({
    version: 'preview1',
    args: [program, ...args],
    env: { PROPTEST_CASES: '16', TMPDIR: '/tmp', ...process.env },
    preopens: { [process.cwd()]: process.cwd(), '/tmp': temporary },
    stdout: output,
    stderr: output,
    returnOnExit: true,
  });
  let code;
  try {
    code = wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
  } catch (error) {
    code = `${error.message}`;
  }
  closeSync(output);
  const text = readFileSync(said, 'utf8');
  rmSync(temporary, { recursive: true });
  return { code, text };
}

const list = await run(['--list', ...given]);
const names = [...list.text.matchAll(/^(\S+): test$/gm)].map((match) => match[1]);
const counts = { ok: 0, ignored: 0, FAILED: 0 };
console.log(`running ${names.length} tests`);
for (const name of names) {
  const { code, text } = await run([...given, '--nocapture', '--exact', name]);
  const ignored = text.match(/\.\.\. (ignored.*)$/m)?.[1];
  const end = code !== 0 ? 'FAILED' : ignored ?? 'ok';
  counts[ignored ? 'ignored' : end] += 1;
  console.log(`test ${name} ... ${end}`);
  if (end === 'FAILED') console.log(`${text.slice(0, 3000)}\n${code}`.replace(/^/gm, '    '));
}
rmSync(folder, { recursive: true });
const result = counts.FAILED || !names.length ? 'FAILED' : 'ok';
console.log(`test result: ${result}. ${counts.ok} passed; ${counts.FAILED} failed; ${counts.ignored} ignored`);
process.exitCode = result === 'ok' ? 0 : 1;
