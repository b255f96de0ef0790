// SPDX-License-Identifier: Apache-2.0
// The client of Piston from npm. usage: piston.mjs NODE_MODULES URL
import { createRequire } from 'node:module';
const [, , modules, server] = process.argv;
const client = createRequire(modules + '/').call(null, 'piston-client');
const { execute, runtimes } = (client.default ?? client)({ server });

async function check(name, call, isGood) {
  let found, good = false;
  try {
    found = await call();
    good = Boolean(isGood(found));
  } catch (error) {
    found = String(error);
  }
  console.log(JSON.stringify({ name, good, found: JSON.stringify(found) ?? '' }));
}

await check('runtimes', runtimes, (r) => r.some((x) => x.language === 'python'));
await check('a program', () => execute('python', "print('hello')"), (r) => r.run.stdout === 'hello\n' && r.run.code === 0);
await check('an exit status', () => execute('python', 'import sys; sys.exit(7)'), (r) => r.run.code === 7);
await check('an endless loop', () => execute('python', 'while True: pass', { runTimeout: 2000 }), (r) => r.run.signal === 'SIGKILL');
await check('input', () => execute('python', 'print(input())', { stdin: 'abc' }), (r) => r.run.stdout === 'abc\n');
await check('two files', () => execute({ language: 'python', files: [
  { name: 'main.py', content: "print(open('a.txt').read())" }, { name: 'a.txt', content: 'data' }] }), (r) => r.run.stdout === 'data\n');
await check('javascript', () => execute('javascript', "console.log('hello')"), (r) => r.run.stdout === 'hello\n');
await check('no such language', () => execute('cobol', 'x'), (r) => typeof r.message === 'string');
