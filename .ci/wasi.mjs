// Runs a test program for wasm32-wasip1, with the folder of the project and one for temporary files.
import { WASI } from 'node:wasi';
import { readFile } from 'node:fs/promises';
import { mkdirSync } from 'node:fs';

const [program, ...args] = process.argv.slice(2);
mkdirSync('/tmp/wasi', { recursive: true });
const wasi = new WASI({
  version: 'preview1',
  args: [program, ...args],
  env: { ...process.env, TMPDIR: '/tmp' },
  preopens: { [process.cwd()]: process.cwd(), '/tmp': '/tmp/wasi' },
});
const module = await WebAssembly.compile(await readFile(program));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exitCode = wasi.start(instance);
