// SPDX-License-Identifier: Apache-2.0
// The JavaScript clients of E2B, e2b and @e2b/code-interpreter: every call. usage: e2b.mjs NODE_MODULES URL [KEY]
import { createRequire } from 'node:module';

const [, , modules, server, key] = process.argv;
process.env.E2B_API_URL = process.env.E2B_SANDBOX_URL = server;
process.env.E2B_API_KEY = key ?? 'e2b_' + '0'.repeat(40);
const require = createRequire(modules + '/');
const e2b = require('e2b');
const interpreter = require('@e2b/code-interpreter');
const CHART = "import matplotlib.pyplot as plt\nplt.bar(['a', 'b'], [1, 2])\nplt.title('t')\nplt.show()";

async function check(name, call, isGood) {
  let found, good = false;
  try {
    found = await call();
    good = Boolean(isGood(found));
  } catch (error) {
    found = `${error.name}: ${error.message}`;
  }
  console.log(JSON.stringify({ name, good, found: (JSON.stringify(found) ?? 'undefined').slice(0, 2000) }));
}

// Whether @call throws an error of class @kind. Any other error goes on.
async function fails(kind, call) {
  try {
    await call();
  } catch (error) {
    if (error instanceof kind) return `${error.name}: ${error.message}`;
    throw error;
  }
  return undefined;
}

const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

async function until(condition, ms = 15000) {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    const found = await condition();
    if (found) return found;
    await wait(100);
  }
  return condition();
}

async function sandboxes(box) {
  await check('isRunning', () => box.isRunning(), (x) => x === true);
  await check('getInfo', () => box.getInfo(), (x) => x.sandboxId === box.sandboxId && same(x.metadata, { user: 'a b' }) && x.state === 'running');
  const list = (query) => e2b.Sandbox.list({ query }).nextItems();
  await check('list', () => list({ metadata: { user: 'a b' } }), (x) => x.some((s) => s.sandboxId === box.sandboxId));
  await check('list, no such metadata', () => list({ metadata: { user: 'ab' } }), (x) => x.length === 0);
  await check('list, pages', async () => {
    const pages = e2b.Sandbox.list({ limit: 1 });
    const first = await pages.nextItems();
    return [first.length, pages.hasNext];
  }, (x) => x[0] === 1);
  await check('connect', async () => (await (await e2b.Sandbox.connect(box.sandboxId)).commands.run('echo $GREETING')).stdout, (x) => x === 'hello\n');
  await check('connect, no such sandbox', () => fails(e2b.NotFoundError, () => e2b.Sandbox.connect('inosuchsandbox')), Boolean);
  await check('setTimeout', async () => { await box.setTimeout(3600000); return box.getInfo(); }, (x) => x.endAt - x.startedAt > 3000000);
  await check('getMetrics', () => until(async () => { const x = await box.getMetrics(); return x.length && x; }), (x) => x[0].memTotal > 0 && x[0].cpuCount > 0);
  await check('getHost', () => box.getHost(3000), (x) => x.startsWith(`3000-${box.sandboxId}.`));
  await check('a template by name', async () => {
    const base = await e2b.Sandbox.create('base', { timeoutMs: 60000 });
    try {
      return (await base.commands.run('whoami')).stdout;
    } finally {
      await base.kill();
    }
  }, (x) => x === 'user\n');
  await check('no such template', () => fails(Error, () => e2b.Sandbox.create('no-such-template-here')), (x) => x?.includes('template'));
  if (key) await check('a wrong key', () => fails(e2b.AuthenticationError, () => e2b.Sandbox.create({ apiKey: 'e2b_' + '9'.repeat(40) })), Boolean);
}

async function commands(box) {
  const run = (...args) => box.commands.run(...args);
  await check('run', () => run('echo out; echo err >&2'), (x) => x.stdout === 'out\n' && x.stderr === 'err\n' && x.exitCode === 0);
  await check('run, exit status', () => fails(e2b.CommandExitError, () => run('exit 7')), Boolean);
  await check('run, envs and cwd', () => run('echo "$A $GREETING"; pwd', { envs: { A: 'b' }, cwd: '/tmp' }), (x) => x.stdout === 'b hello\n/tmp\n');
  await check('run, text in several bytes', () => run("printf 'žluť %.0s' $(seq 20000)"), (x) => x.stdout === 'žluť '.repeat(20000));
  await check('run, streamed', async () => {
    const heard = [];
    await run('for i in 1 2 3; do echo $i; sleep 0.2; done', { onStdout: (data) => { heard.push(data); } });
    return heard;
  }, (x) => x.join('') === '1\n2\n3\n' && x.length > 1);
  await check('run, timeout', () => fails(e2b.TimeoutError, () => run('sleep 60', { timeoutMs: 1000 })), Boolean);
  await check('run, background', async () => {
    const handle = await run('sleep 1; echo a; exit 3', { background: true });
    return [handle.pid, await fails(e2b.CommandExitError, () => handle.wait())];
  }, (x) => x[0] > 0 && x[1]);
  await check('list and kill of a command', async () => {
    const handle = await run('sleep 300', { background: true });
    const listed = (await box.commands.list()).some((p) => p.pid === handle.pid);
    return [listed, await handle.kill(), Boolean(await fails(e2b.CommandExitError, () => handle.wait()))];
  }, (x) => same(x, [true, true, true]));
  await check('kill, no such command', () => box.commands.kill(999999), (x) => x === false);
  await check('connect to a command', async () => {
    const first = await run('sleep 2; echo later', { background: true });
    await first.disconnect();
    return (await (await box.commands.connect(first.pid)).wait()).stdout;
  }, (x) => x === 'later\n');
  await check('connect, no such command', () => fails(e2b.NotFoundError, () => box.commands.connect(999999)), Boolean);
  await check('sendStdin', async () => {
    const handle = await run('read a; read b; echo $b $a', { background: true, stdin: true });
    await box.commands.sendStdin(handle.pid, 'one\n');
    await box.commands.sendStdin(handle.pid, 'two\n');
    return (await handle.wait()).stdout;
  }, (x) => x === 'two one\n');
  await check('closeStdin', async () => {
    const handle = await run('cat; echo end', { background: true, stdin: true });
    await box.commands.sendStdin(handle.pid, 'one\n');
    await box.commands.closeStdin(handle.pid);
    return (await handle.wait()).stdout;
  }, (x) => x === 'one\nend\n');
  await check('a hundred commands at once', async () => {
    const done = await Promise.all(Array.from({ length: 100 }, (_, i) => run(`sleep 0.5; echo ${i}`)));
    return done.every((x, i) => x.stdout === `${i}\n`);
  }, (x) => x === true);
}

async function terminals(box) {
  await check('a terminal', async () => {
    const heard = [];
    const handle = await box.pty.create({ rows: 30, cols: 90, envs: { MARK: 'm' }, onData: (data) => { heard.push(Buffer.from(data)); } });
    await box.pty.sendInput(handle.pid, new TextEncoder().encode('stty size; echo $MARK-$TERM\n'));
    await wait(1000);
    await box.pty.resize(handle.pid, { rows: 40, cols: 100 });
    await box.pty.sendInput(handle.pid, new TextEncoder().encode('stty size; exit 0\n'));
    await handle.wait();
    return Buffer.concat(heard).toString();
  }, (x) => ['30 90', 'm-xterm-256color', '40 100'].every((part) => x.includes(part)));
  await check('kill of a terminal', async () => {
    const handle = await box.pty.create({ rows: 24, cols: 80, onData: () => {} });
    return [await box.pty.kill(handle.pid), await box.pty.kill(999999)];
  }, (x) => same(x, [true, false]));
}

async function files(box) {
  const { files } = box;
  await check('write', () => files.write('a/b.txt', 'text'), (x) => x.path === '/home/user/a/b.txt' && x.name === 'b.txt');
  await check('read', () => files.read('a/b.txt'), (x) => x === 'text');
  await check('read, bytes', async () => Buffer.from(await files.read('a/b.txt', { format: 'bytes' })).toString(), (x) => x === 'text');
  await check('read, no such file', () => fails(e2b.NotFoundError, () => files.read('none')), Boolean);
  await check('write, empty', async () => { await files.write('empty', ''); return files.read('empty'); }, (x) => x === '');
  await check('write, awkward name', async () => { await files.write('ž "q"+ &.txt', '1'); return files.read('ž "q"+ &.txt'); }, (x) => x === '1');
  await check('write, many', () => files.write(Array.from({ length: 30 }, (_, i) => ({ path: `many/${i}`, data: `${i}` }))),
    (x) => x.length === 30 && x.every((f, i) => f.path === `/home/user/many/${i}`));
  await check('list', () => files.list('many'), (x) => x.length === 30);
  await check('list, two levels', () => files.list('/home/user', { depth: 2 }), (x) => x.some((f) => f.path === '/home/user/a/b.txt'));
  await check('getInfo', () => files.getInfo('a/b.txt'), (x) => x.size === 4 && x.owner === 'user' && x.permissions === '-rw-r--r--');
  await check('exists', async () => [await files.exists('a/b.txt'), await files.exists('none')], (x) => same(x, [true, false]));
  await check('makeDir', async () => [await files.makeDir('d/e'), await files.makeDir('d/e')], (x) => same(x, [true, false]));
  await check('rename', async () => [(await files.rename('a/b.txt', 'd/c.txt')).path, await files.read('d/c.txt')], (x) => same(x, ['/home/user/d/c.txt', 'text']));
  await check('remove', async () => { await files.remove('d'); return files.exists('d'); }, (x) => x === false);
  const large = 'ab'.repeat(1 << 20);
  await check('write, 2 MiB', async () => { await files.write('big', large); return (await files.read('big')) === large; }, (x) => x === true);
  await check('write, gzip', async () => { await files.write('zip', large, { gzip: true }); return (await files.getInfo('zip')).size; }, (x) => x === large.length);
  await check('write, octets', async () => { await files.write('octets', large, { useOctetStream: true }); return (await files.getInfo('octets')).size; },
    (x) => x === large.length);
  await check('metadata', async () => [(await files.write('m', '1', { metadata: { k: 'v' } })).metadata, (await files.getInfo('m')).metadata],
    (x) => same(x, [{ k: 'v' }, { k: 'v' }]));
  await check('watchDir', async () => {
    const heard = [];
    await files.makeDir('watched/below');
    const handle = await files.watchDir('watched', (event) => { heard.push(`${event.type} ${event.name}`); }, { recursive: true });
    await box.commands.run('cd watched/below; echo 1 > a; chmod 600 a; mv a b; rm b');
    await until(() => heard.includes('remove below/b'));
    await handle.stop();
    return heard;
  }, (x) => ['create below/a', 'write below/a', 'chmod below/a', 'rename below/a', 'remove below/b'].every((event) => x.includes(event)));
  const form = () => { const f = new FormData(); f.append('file', new Blob(['by a form']), 'f'); return { method: 'POST', body: f }; };
  const status = async (url, options) => { const r = await fetch(url, options); return [r.status, await r.text()]; };
  await check('uploadUrl', async () => status(await box.uploadUrl('signed.txt'), form()), (x) => x[0] === 200);
  await check('downloadUrl', async () => status(await box.downloadUrl('signed.txt')), (x) => same(x, [200, 'by a form']));
  await check('downloadUrl, expires', async () => status(await box.downloadUrl('signed.txt', { useSignatureExpiration: 60000 })), (x) => x[0] === 200);
  await check('downloadUrl, another file', async () => status((await box.downloadUrl('signed.txt')).replace('signed.txt', 'empty')), (x) => x[0] === 401);
}

async function code(box) {
  const run = (...args) => box.runCode(...args);
  await check('runCode', () => run("x = 20\nprint('a')\nx + 1"), (x) => x.text === '21' && same(x.logs.stdout, ['a\n']) && !x.error);
  await check('runCode, state', () => run('x'), (x) => x.text === '20');
  await check('runCode, error', () => run('1/0'), (x) => x.error.name === 'ZeroDivisionError' && x.error.traceback.includes('Traceback'));
  await check('runCode, envs', async () => (await run("import os; os.environ['A'] + os.environ['GREETING']", { envs: { A: 'b' } })).text, (x) => x === 'bhello');
  await check('runCode, callbacks', async () => {
    const heard = [];
    await run('import time\nprint(1); time.sleep(1); print(2)\n3', { onStdout: (m) => { heard.push(m.line); }, onResult: (r) => { heard.push(r.text); } });
    return heard;
  }, (x) => same(x, ['1\n', '2\n', '3']));
  await check('runCode, text in several bytes', () => run("print('žluť ' * 20000)"), (x) => x.logs.stdout.join('') === 'žluť '.repeat(20000) + '\n');
  await check('runCode, chart', async () => (await run(CHART)).results[0], (x) => x.png && x.chart.type === 'bar' && x.chart.title === 't' && x.chart.elements.length === 2);
  await check('runCode, a table', async () => (await run("import pandas as pd\npd.DataFrame({'a': [1, 2]})")).results[0], (x) => x.html && same(x.data, { a: [1, 2] }));
  await check('runCode, timeout', async () => [await fails(e2b.TimeoutError, () => run('import time; time.sleep(60)', { timeoutMs: 2000 })), (await run('1')).text],
    (x) => x[0] && x[1] === '1');
  await check('runCode, javascript', () => run('const a = [1, 2]; console.log(a.length)', { language: 'javascript' }), (x) => same(x.logs.stdout, ['2\n']));
  await check('runCode, bash', () => run('echo $GREETING', { language: 'bash' }), (x) => same(x.logs.stdout, ['hello\n']));
  await check('contexts', async () => {
    const context = await box.createCodeContext({ cwd: '/tmp', language: 'python' });
    const found = [(await run('y = 1; import os; os.getcwd()', { context })).text, (await run('y')).error.name];
    found.push((await box.listCodeContexts()).some((c) => c.id === context.id));
    await box.restartCodeContext(context.id);
    found.push((await run('y', { context })).error.name);
    await box.removeCodeContext(context.id);
    found.push(Boolean(await fails(e2b.NotFoundError, () => run('1', { context }))));
    return found;
  }, (x) => same(x, ['/tmp', 'NameError', true, 'NameError', true]));
}

async function lives(box) {
  await check('allowInternetAccess', async () => {
    const alone = await e2b.Sandbox.create({ timeoutMs: 60000, allowInternetAccess: false });
    try {
      return await fails(e2b.CommandExitError, () => alone.commands.run('curl -s -m 5 http://1.1.1.1'));
    } finally {
      await alone.kill();
    }
  }, Boolean);
  await check('updateNetwork', () => box.updateNetwork({ denyOut: ['0.0.0.0/0'] }), (x) => x === undefined);
  await check('a snapshot', async () => {
    await box.files.write('kept', '1');
    const snapshot = await box.createSnapshot();
    await box.files.write('kept', '2');
    const other = await e2b.Sandbox.create(snapshot.snapshotId, { timeoutMs: 60000 });
    try {
      return [await other.files.read('kept'), await box.files.read('kept'), await e2b.Sandbox.deleteSnapshot(snapshot.snapshotId)];
    } finally {
      await other.kill();
    }
  }, (x) => same(x, ['1', '2', true]));
  if (typeof box.fork === 'function') {
    await check('fork', async () => {
      await box.files.write('forked', '1');
      const [other] = await box.fork({ timeoutMs: 60000 });
      try {
        await other.files.write('forked', '2');
        return [await box.files.read('forked'), await other.files.read('forked')];
      } finally {
        await other.kill();
      }
    }, (x) => same(x, ['1', '2']));
  }
  await check('pause and connect', async () => {
    const handle = await box.commands.run('sleep 300', { background: true });
    await box.pause();
    const found = [await box.isRunning(), (await box.getInfo()).state];
    await box.connect({ timeoutMs: 300000 });
    return [...found, await box.isRunning(), (await box.commands.list()).some((p) => p.pid === handle.pid), (await box.runCode('x')).text];
  }, (x) => same(x, [false, 'paused', true, true, '20']));
  await check('the end of the time', async () => {
    const short = await e2b.Sandbox.create({ timeoutMs: 2000 });
    await until(async () => !(await short.isRunning()));
    return [await short.isRunning(), await fails(Error, () => short.commands.run('true'))];
  }, (x) => x[0] === false && x[1]);
  await check('kill', () => box.kill(), (x) => x === true);
  await check('kill, twice', () => box.kill(), (x) => x === false);
  await check('run, killed', () => fails(Error, () => box.commands.run('true')), Boolean);
  await check('runCode, killed', () => fails(Error, () => box.runCode('1')), Boolean);
}

let box;
await check('create', async () => {
  box = await interpreter.Sandbox.create({ timeoutMs: 300000, metadata: { user: 'a b' }, envs: { GREETING: 'hello' } });
  return box.sandboxId;
}, Boolean);
if (box) for (const part of [sandboxes, commands, terminals, files, code, lives]) await part(box);
process.exit(0);
