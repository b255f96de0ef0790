// SPDX-License-Identifier: Apache-2.0
'use strict';

/*
 * retort.skills: the functions that are stored in /skills, and a way to propose one. Any property name yields
 * a function. Whether the skill exists is checked only when the function is called.
 */
module.exports = function make(genuine, calls, ask, load) {
  const { ToolArgumentError } = calls.errors;
  const PLACE = '/skills/';
  const NAME = /^[a-z][a-z0-9_]{0,62}$/;

  async function call(name, given) {
    let found = null;
    try {
      found = await load(PLACE + name + '.mjs');
    } catch (error) {
      if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
      throw new ToolArgumentError('retort.skills has no skill ' + name);
    }
    if (typeof found[name] !== 'function') throw new ToolArgumentError('skill ' + name + ': it does not define the function ' + name);
    return genuine.apply(found[name], undefined, given);
  }

  /* Return source that defines @name. @thing is a function or source. */
  function sourceOf(thing, name) {
    if (typeof thing === 'string') return thing;
    if (typeof thing !== 'function') throw new ToolArgumentError('retort.skills.save: function: give a function, or source');
    const text = genuine.functionText(thing);
    if (thing.name === name && genuine.exec(/^(async\s+)?(function|class)\b/, text) !== null) return text;
    return 'const ' + name + ' = ' + text + ';';
  }

  /*
   * Return a skill's signature for display. The parameters are those of @thing, or … if @thing is not a
   * function or its parameters are not simple.
   */
  function signatureOf(thing, name) {
    const found = typeof thing === 'function' ? genuine.exec(/^[^(]*\(([^()]*)\)/, genuine.functionText(thing)) : null;
    return 'retort.skills.' + name + '(' + (found === null ? '…' : found[1]) + ')';
  }

  /*
   * Propose a function as a skill called @name. @test is a function or source. The engine runs it in a new
   * box, together with the skill's source and nothing else. Only if it succeeds is the skill stored, for all
   * sessions.
   */
  async function save(name, thing, test) {
    if (typeof name !== 'string' || genuine.exec(NAME, name) === null) {
      throw new ToolArgumentError('retort.skills.save: name: up to 63 lower case letters, digits and _, a letter first');
    }
    if (typeof test !== 'string' && typeof test !== 'function') {
      throw new ToolArgumentError('retort.skills.save: test: give a function that checks what ' + name + ' does');
    }
    const source = sourceOf(thing, name) + '\nexport { ' + name + ' };\n';
    const check = typeof test === 'function' ? 'await (' + genuine.functionText(test) + ')();' : test;
    const value = { name, source, test: check, runtime: 'javascript', signature: signatureOf(thing, name) };
    return await ask('retort.skill_save', value, (answer) => answer);
  }

  return new genuine.ProxyClass({ __proto__: null }, {
    __proto__: null,
    get: (_, name) => {
      if (name === 'save') return save;
      if (typeof name !== 'string' || genuine.exec(NAME, name) === null || name === 'then') return undefined;
      return (...given) => call(name, given);
    },
    set: () => false,
    defineProperty: () => false,
    has: (_, name) => name === 'save',
    ownKeys: () => ['save'],
    getOwnPropertyDescriptor: (_, name) => name === 'save'
      ? { value: save, enumerable: true, configurable: true, writable: true } : undefined,
  });
};
