// SPDX-License-Identifier: Apache-2.0
// The tools of @librechat/agents, and requests for files as LibreChat sends them.
// usage: librechat.mjs NODE_MODULES URL TOKEN
import { readFileSync } from 'node:fs';
const [, , modules, baseUrl, token] = process.argv;
process.env.LIBRECHAT_CODE_BASEURL = baseUrl;
process.env.LIBRECHAT_CODE_API_KEY = token;  // older versions need it, and send X-API-Key
console.debug = console.warn = () => {};
const where = `${modules}/@librechat/agents/`;
const entry = JSON.parse(readFileSync(where + 'package.json', 'utf8')).exports['.'].import;
const agents = await import(where + entry);
const headers = { 'X-API-Key': token };
const params = { authHeaders: { Authorization: `Bearer ${token}` }, baseUrl, apiKey: token };

// Run a tool as the graph does: the artifact has the files, and the next call gets them.
async function call(tool, args, files) {
  const message = await tool.invoke({ id: 'call', name: tool.name, type: 'tool_call', args,
    ...(files ? { _injected_files: files } : {}) });
  return { text: message.content, ...message.artifact };
}
const refs = (files) => files.map((f) => ({ ...f, kind: 'user', resource_id: 'user-1' }));
const code = agents.createCodeExecutionTool(params);
const bash = agents.createBashExecutionTool?.(params);
const py = (text, files, args) => call(code, { lang: 'py', code: text, ...(args ? { args } : {}) }, files);
const query = '?kind=user&id=user-1';
const get = (path) => fetch(baseUrl + path, { headers });

async function check(name, make, isGood) {
  let found, good = false;
  try {
    found = await make();
    good = Boolean(isGood(found));
  } catch (error) {
    found = String(error);
  }
  console.log(JSON.stringify({ name, good, found: JSON.stringify(found) ?? '' }));
  return found;
}
const fails = (make) => make().then(() => 'no error', (error) => error.message);

await check('a program', () => py('print(6 * 7)'), (r) => /^stdout:\n42\s*$/.test(r.text) && r.session_id);
await check('arguments', () => py('import sys; print(sys.argv[1:])', null, ['a', 'b c']), (r) => r.text.includes("['a', 'b c']"));
await check('an error', () => py('1 / 0'), (r) => r.text.includes('ZeroDivisionError') && r.text.includes('stderr:'));
await check('javascript', () => call(code, { lang: 'js', code: 'console.log(process.argv.length)' }), (r) => r.text.includes('2'));
if (bash) await check('bash', () => call(bash, { command: 'echo $((6 * 7)); pwd -P; ls -d /mnt/data' }), (r) => r.text.includes('42'));
const made = await check('a file is made', () => py("open('/mnt/data/sales.csv', 'w').write('a,b\\n1,2\\n')"),
  (r) => r.files.length === 1 && r.files[0].name === 'sales.csv');
const same = await check('the next program has it', () => py("print(open('/mnt/data/sales.csv').read())", refs(made.files)),
  (r) => r.text.includes('1,2') && r.files[0].inherited && r.files[0].id === made.files[0].id);
await check('and may change it', () => py("open('/mnt/data/sales.csv', 'a').write('3,4')", refs(same.files)),
  (r) => r.files[0].modified_from.id === made.files[0].id);
await check('a file that is not there', () => fails(() => py('1', refs([{ ...made.files[0], id: 'f'.repeat(21) }]))),
  (text) => /not authorized|403/.test(text));
await check('no such language', () => fails(() => call(code, { lang: 'cobol', code: 'x' })), (text) => text !== 'no error');

// LibreChat: packages/api and api/server/services/Files/Code.
const form = new FormData();
form.append('kind', 'user');
form.append('id', 'user-1');
form.append('file', new Blob(['name,n\nann,1\n']), 'people é.csv');
const sent = await check('upload', async () => (await fetch(baseUrl + '/upload', { method: 'POST', headers, body: form })).json(),
  (r) => r.message === 'success' && r.storage_session_id && r.files[0].fileId && r.files[0].filename === 'people é.csv');
const { storage_session_id, files: [{ fileId, filename }] } = sent;
await check('a program reads it', () => py("print(open('/mnt/data/people é.csv').read())",
  refs([{ id: fileId, storage_session_id, name: filename }])), (r) => r.text.includes('ann,1'));
await check('is it still there?', async () => (await get(`/sessions/${storage_session_id}/objects/${fileId}${query}`)).json(),
  (r) => Date.now() - Date.parse(r.lastModified) < 3600000);
const one = made.files?.[0] ?? {};
await check('download', async () => (await get(`/download/${one.storage_session_id ?? one.session_id}/${one.id}${query}`)).text(),
  (text) => text === 'a,b\n1,2\n');
