// Shows the file that is dropped on the page. All of the reading is done by ndarray-io, as WebAssembly.

const module = WebAssembly.compileStreaming(fetch('ndarray_io_web.wasm'));
module.catch(() => {}); // errors are reported where the promise is awaited
// A new instance for each file, so that the memory of the previous one is released.
let wasm;
const find = (id) => document.getElementById(id);
const SVG = 'http://www.w3.org/2000/svg';

/** Copies bytes into the memory of the library. */
function give(bytes) {
  const at = wasm.allocate(bytes.length);
  new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
}

/** Calls the library, and parses its answer. */
function asked(question) {
  try {
    question();
    const bytes = new Uint8Array(wasm.memory.buffer, wasm.answer(), wasm.answer_len());
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    return { error: `cannot be shown (${error.message})`, help: 'open the file again; perhaps this browser has too little memory for it' };
  }
}

/** Creates an element with the given text and attributes. */
function element(name, text = '', attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function tell(where, problem) {
  where.hidden = !problem;
  where.textContent = problem ? [problem.error, problem.help && `→ ${problem.help}`].filter(Boolean).join('\n') : '';
}

const tuple = (shape) => (shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`);

let opened = 0;
async function open(file) {
  const number = ++opened;
  document.querySelector('main').hidden = true;
  find('shown').hidden = true;
  if (file.size > 1 << 30) return tell(find('error'), { error: 'files larger than 1 GiB are not supported here' });
  let bytes;
  let instance;
  try {
    bytes = new Uint8Array(await file.arrayBuffer());
    instance = await WebAssembly.instantiate(await module);
  } catch (error) {
    return tell(find('error'), { error: `${file.name} cannot be read (${error.message})` });
  }
  if (number !== opened) return; // another file has been dropped since
  wasm = instance.exports;
  const found = asked(() => {
    give(bytes);
    wasm.open();
  });
  tell(find('error'), found.error && found);
  if (found.error) return;
  document.querySelector('main').hidden = false;
  find('name').textContent = file.name;
  const more = found.more ? `; ${found.more} more members are not listed` : '';
  find('format').textContent = `${found.format}, ${found.bytes.toLocaleString('en')} bytes${more}`;
  const rows = found.arrays.map((array, index) => {
    const row = element('tr');
    const packed = array.method ? `${array.packed} (${array.method})` : '';
    const cells = array.dtype ? [array.dtype, tuple(array.shape), array.order] : [array.error, '', ''];
    row.append(element('td'), ...[...cells, array.bytes ?? '', packed].map((text) => element('td', text)));
    row.cells[0].append(element('button', array.name || '(the array)', { type: 'button' }));
    row.onclick = () => select(index);
    return row;
  });
  find('arrays').tBodies[0].replaceChildren(...rows);
  if (found.arrays.length) select(0);
}

function select(index) {
  [...find('arrays').tBodies[0].rows].forEach((row, at) => {
    row.classList.toggle('chosen', at === index);
    row.querySelector('button').setAttribute('aria-pressed', at === index);
  });
  const array = asked(() => wasm.select(index));
  find('shown').hidden = Boolean(array.error);
  tell(find('error'), array.error && array);
  if (array.error) return;
  find('slice').value = '';
  const fields = array.fields ?? [];
  find('fields').hidden = fields.length === 0;
  find('field').replaceChildren(element('option', 'all', { value: '' }), ...fields.map((name) => element('option', name, { value: name })));
  show();
}

function show() {
  const question = { slice: find('slice').value, field: find('field').value || undefined };
  const seen = asked(() => {
    give(new TextEncoder().encode(JSON.stringify(question)));
    wasm.view();
  });
  tell(find('wrong'), seen.error && seen);
  find('part').hidden = Boolean(seen.error);
  if (seen.error) return;
  find('title').textContent = `${seen.dtype} ${tuple(seen.shape)}`;
  find('text').textContent = seen.text ?? '';
  find('of').textContent = seen.of;
  const first = seen.table.length;
  const whole = seen.shape.length < 3 && first === (seen.shape[0] ?? 1) && (seen.table[0]?.length ?? 0) === (seen.shape[1] ?? (first ? 1 : 0));
  find('rows').textContent = whole || !first ? '' : `the first ${first} × ${seen.table[0].length} elements${seen.shape.length > 2 ? ' of the last two axes' : ''}`;
  find('table').replaceChildren(...seen.table.map((cells) => {
    const row = element('tr');
    row.append(...cells.map((text) => element('td', text)));
    return row;
  }));
  find('statistics').replaceChildren(...Object.entries(seen.statistics ?? {}).map(([name, value]) => {
    const one = element('div', '', { 'data-name': name });
    one.append(element('dt', name), element('dd', value ?? '–'));
    return one;
  }));
  picture(seen.picture);
  line(seen.line);
  histogram(seen.histogram);
}

function picture(size) {
  const figure = find('picture');
  figure.hidden = !size?.width;
  if (figure.hidden) return;
  const canvas = figure.querySelector('canvas');
  [canvas.width, canvas.height] = [size.width, size.height];
  const pixels = new Uint8ClampedArray(wasm.memory.buffer, wasm.pixels(), 4 * size.width * size.height).slice();
  canvas.getContext('2d').putImageData(new ImageData(pixels, size.width, size.height), 0, 0);
  const every = Math.max(...size.steps) > 1 ? `; every ${size.steps[0]}th row and ${size.steps[1]}th column` : '';
  figure.querySelector('figcaption').textContent = `${size.width} × ${size.height} pixels${every}`;
}

function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** A polyline for each run of values without a gap. */
function line(values) {
  const figure = find('line');
  const numbers = values?.values ?? [];
  const known = numbers.filter((value) => value !== null);
  figure.hidden = known.length < 2;
  if (figure.hidden) return;
  const low = known.reduce((one, other) => Math.min(one, other));
  const high = known.reduce((one, other) => Math.max(one, other));
  const runs = [[]];
  numbers.forEach((value, index) => {
    if (value === null) return runs.push([]);
    const x = (512 * index) / Math.max(1, numbers.length - 1);
    const y = 250 - 244 * ((value / 4 - low / 4) / (high / 4 - low / 4 || 1));
    runs.at(-1).push(`${x.toFixed(2)},${y.toFixed(2)}`);
  });
  // One value alone is a line to itself, which is drawn as a dot.
  const lines = runs.filter((run) => run.length).map((run) => shape('polyline', { points: [...run, run.at(-1)].join(' ') }));
  figure.querySelector('figcaption').textContent = values.step > 1 ? `every ${values.step}th value` : 'values by index';
  figure.querySelector('svg').replaceChildren(...lines);
}

function histogram(counted) {
  const figure = find('histogram');
  figure.hidden = !counted;
  if (figure.hidden) return;
  const most = Math.max(...counted.counts, 1);
  const width = 512 / counted.counts.length;
  figure.querySelector('svg').replaceChildren(...counted.counts.map((count, index) => {
    const height = (250 * count) / most;
    return shape('rect', { x: index * width, y: 256 - height, width: width - 1, height, 'data-count': count });
  }));
  figure.querySelector('figcaption').textContent = `${counted.low} to ${counted.high}`;
}

const drop = find('drop');
for (const name of ['dragover', 'drop']) {
  document.addEventListener(name, (event) => event.preventDefault());
}
document.addEventListener('dragover', () => drop.classList.add('over'));
document.addEventListener('dragleave', () => drop.classList.remove('over'));
document.addEventListener('drop', (event) => {
  drop.classList.remove('over');
  const [file] = event.dataTransfer.files;
  if (file) open(file);
});
find('file').onchange = (event) => {
  const [file] = event.target.files;
  event.target.value = ''; // so that the same file can be chosen again
  if (file) open(file);
};
find('ask').onsubmit = (event) => {
  event.preventDefault();
  show();
};
document.documentElement.dataset.ready = 'yes';
