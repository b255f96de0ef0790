// SPDX-License-Identifier: Apache-2.0
'use strict';

/*
 * retort.tools: any property name is a server, and any property of a server is a tool. Whether they exist is
 * checked only at a call. The text that a server gives about itself is untrusted. It is used as keys of tables
 * and is displayed, but it is never used as code.
 */
module.exports = function make(genuine, calls) {
  const { push, join, slice, indexOf } = genuine;
  const { ToolArgumentError, ToolError } = calls.errors;
  const INSPECT = genuine.inspect.custom;
  const NAMES_SHOWN = 12;

  const catalog = { __proto__: null, servers: [], asked: null };

  // ---- the list of tools --------------------------------------------------------------------

  const text = (row, name, fallback) =>
    row !== null && typeof row === 'object' && genuine.has(row, name) && typeof row[name] === 'string' ? row[name]
      : fallback;
  const list = (row, name) =>
    row !== null && typeof row === 'object' && genuine.has(row, name) && genuine.isArray(row[name]) ? row[name] : [];

  function readTool(row) {
    const tool = text(row, 'tool', '');
    const params = [];
    const rows = list(row, 'params');
    for (let i = 0; i < rows.length; i++) push(params, text(rows[i], 'name', ''));
    return { __proto__: null, tool, name: text(row, 'name', ''), id: text(row, 'js_id', tool), params,
      signature: text(row, 'js_signature', text(row, 'signature', '')), doc: text(row, 'doc', '') };
  }

  function readCatalog(answer) {
    const servers = [];
    const rows = list(answer, 'servers');
    for (let i = 0; i < rows.length; i++) {
      const name = text(rows[i], 'name', '');
      const server = { __proto__: null, name, id: text(rows[i], 'js_id', name), tools: [] };
      const tools = list(rows[i], 'tools');
      for (let k = 0; k < tools.length; k++) {
        const tool = readTool(tools[k]);
        if (tool.tool !== '' && tool.name !== '') push(server.tools, tool);
      }
      if (name !== '') push(servers, server);
    }
    return servers;
  }

  /* Return the list of servers, which the engine is asked for only once. With @isAgain, ask again. */
  async function load(isAgain, job) {
    if (catalog.asked === null || isAgain) {
      const asked = catalog.asked = calls.request('retort.tools', {}, null, job);
      try {
        catalog.servers = readCatalog(await asked);
      } catch (error) {
        if (catalog.asked === asked) catalog.asked = null;
        throw error;
      }
      if (catalog.asked === asked) catalog.asked = true;
    } else if (catalog.asked !== true) await catalog.asked;
    return catalog.servers;
  }

  /* Return the snake-case form of a name: read_file for readFile. */
  function snake(name) {
    let out = '';
    for (let i = 0; i < name.length; i++) {
      const isUpper = genuine.exec(/[A-Z]/, name[i]) !== null;
      const begins = isUpper && i > 0 && name[i - 1] !== '_' && (genuine.exec(/[a-z0-9]/, name[i - 1]) !== null ||
        (i + 1 < name.length && genuine.exec(/[a-z]/, name[i + 1]) !== null));
      out += (begins ? '_' : '') + (isUpper ? genuine.lower(name[i]) : name[i]);
    }
    return out;
  }

  /*
   * Find an entry of @all: first by its own name, then by its JavaScript name or that name in snake case.
   * Returns null if no entry or more than one matches.
   */
  function find(all, key, name) {
    let same = null;
    for (let i = 0; i < all.length; i++) if (all[i][key] === name) return all[i];
    for (let i = 0; i < all.length; i++) {
      if (all[i].id !== name && snake(all[i].id) !== name) continue;
      if (same !== null) return null;
      same = all[i];
    }
    return same;
  }

  function includes(all, name) {
    for (let i = 0; i < all.length; i++) if (all[i] === name) return true;
    return false;
  }

  function names(all, ...more) {
    const out = more;
    for (let i = 0; i < all.length; i++) if (!includes(out, all[i].id)) push(out, all[i].id);
    return genuine.sort(out);
  }

  function listing(all) {
    const known = names(all);
    const more = known.length > NAMES_SHOWN ? ', and ' + (known.length - NAMES_SHOWN) + ' more' : '';
    known.length = known.length > NAMES_SHOWN ? NAMES_SHOWN : known.length;
    return (join(known, ', ') || 'none') + more;
  }

  async function resolve(server, tool, job) {
    for (let turn = 0; turn < 2; turn++) {
      const found = find(await load(turn === 1, job), 'name', server);
      const row = found === null ? null : find(found.tools, 'tool', tool);
      if (row !== null) return row;
    }
    const found = find(catalog.servers, 'name', server);
    if (found === null) {
      throw new ToolArgumentError('tools has no server ' + server + ': there are ' + listing(catalog.servers));
    }
    throw new ToolArgumentError('tools.' + found.id + ' has no tool ' + tool + ': there are ' + listing(found.tools));
  }

  // ---- a call ---------------------------------------------------------------------------------

  /*
   * Return the arguments of a call as one object. @given is one object, or values in the order of the
   * parameters.
   */
  function bind(row, given) {
    const one = given.length === 1 ? given[0] : undefined;
    if (given.length === 0 || (one !== null && typeof one === 'object' && !genuine.isArray(one))) return one || {};
    if (given.length > row.params.length) {
      throw new ToolArgumentError(row.name + ': give one object: ' + (row.signature || '{name: value}'), row.name);
    }
    const out = { __proto__: null };
    for (let i = 0; i < given.length; i++) out[row.params[i]] = given[i];
    return out;
  }

  function start(server, tool, given) {
    const job = { __proto__: null, outer: null };
    const site = new genuine.Error();
    job.outer = (async () => {
      const row = await resolve(server, tool, job);
      return await calls.request(row.name, bind(row, given), site, job);
    })();
    return job.outer;
  }

  /* Make a call of retort itself. @made converts the answer. */
  function ask(name, value, made) {
    const job = { __proto__: null, outer: null };
    const site = new genuine.Error();
    job.outer = (async () => made(await calls.request(name, value, site, job)))();
    return job.outer;
  }

  // ---- objects with any property ------------------------------------------------------------

  const known = new genuine.WeakMapClass(); // maps a function to [server, tool]

  /*
   * Return an object that has any property. @make(name) makes a property's value when it is first used. @own
   * holds some fixed properties, @keys() lists known names, and @show() returns the object's text.
   */
  function anything(own, make, keys, show) {
    const made = { __proto__: null };
    const target = { __proto__: null };
    genuine.define(target, INSPECT, { value: show, configurable: true });
    const get = (_, name) => {
      if (typeof name === 'symbol') return target[name];
      if (genuine.has(own, name)) return own[name];
      // The object must not look like a promise, or like an object that makes its own JSON.
      if (name === 'then' || name === 'toJSON') return undefined;
      if (name === 'toString') return show;
      if (made[name] === undefined) made[name] = make(name);
      return made[name];
    };
    return new genuine.ProxyClass(target, {
      __proto__: null,
      get,
      has: (_, name) => includes(keys(), name),
      set: () => false,
      defineProperty: () => false,
      deleteProperty: () => false,
      ownKeys: keys,
      getOwnPropertyDescriptor: (_, name) => includes(keys(), name)
        ? { value: get(_, name), enumerable: true, configurable: true, writable: true } : undefined,
    });
  }

  function toolsOf(server) {
    const found = find(catalog.servers, 'name', server);
    return found === null ? [] : found.tools;
  }

  function makeServer(server) {
    const show = () => '[tools.' + server + ': ' + listing(toolsOf(server)) + ']';
    return anything({ __proto__: null }, (tool) => {
      const call = (...given) => start(server, tool, given);
      genuine.define(call, 'name', { value: tool });
      genuine.define(call, INSPECT, { value: () => {
        const row = find(toolsOf(server), 'tool', tool);
        return row === null ? '[tools.' + server + '.' + tool + ']' : row.signature + '\n\n' + row.doc;
      } });
      genuine.weakSet(known, call, [server, tool]);
      return call;
    }, () => names(toolsOf(server)), show);
  }

  // ---- finding tools ------------------------------------------------------------------------------

  class Description {
    [INSPECT]() {
      const rest = {};
      const keys = genuine.keys(this);
      for (let i = 0; i < keys.length; i++)
        if (genuine.exec(/^(name|tool|id|js_id|signature|js_signature|doc|params)$/, keys[i]) === null)
          rest[keys[i]] = this[keys[i]];
      const parts = [text(this, 'js_signature', text(this, 'signature', text(this, 'name', ''))), text(this, 'doc', ''),
        genuine.stringify(rest, null, 1)];
      return join(parts, '\n\n');
    }
  }

  function describeAnswer(answer) {
    if (answer === null || typeof answer !== 'object') return answer;
    const out = new Description();
    const keys = genuine.keys(answer);
    for (let i = 0; i < keys.length; i++)
      genuine.define(out, keys[i], { value: answer[keys[i]], writable: true, enumerable: true, configurable: true });
    return out;
  }

  function ofHere(skills) {
    const out = [];
    for (let i = 0; i < skills.length; i++) if (text(skills[i], 'runtime', '') === 'javascript') push(out, skills[i]);
    return out;
  }

  function found(answer) {
    const rows = genuine.isArray(answer) ? answer : [...list(answer, 'tools'), ...ofHere(list(answer, 'skills'))];
    genuine.define(rows, INSPECT, { value: () => {
      const lines = [];
      for (let i = 0; i < rows.length; i++) {
        const doc = text(rows[i], 'doc', '');
        const end = indexOf(doc, '\n');
        const line = text(rows[i], 'js_signature', text(rows[i], 'signature', text(rows[i], 'name', '')));
        push(lines, doc === '' ? line : line + '  ' + (end < 0 ? doc : slice(doc, 0, end)));
      }
      return join(lines, '\n') || 'nothing found';
    } });
    return rows;
  }

  const own = {
    __proto__: null,
    search: (query, limit) => ask('retort.search', limit === undefined ? { query } : { query, limit }, found),
    describe: async (tool) => {
      const pair = typeof tool === 'function' ? genuine.weakGet(known, tool) : undefined;
      const name = pair === undefined ? tool : (await resolve(pair[0], pair[1], {})).name;
      return await ask('retort.describe', { name }, describeAnswer);
    },
  };
  const allNames = () => names(catalog.servers, 'search', 'describe');
  const tools = anything(own, makeServer, allNames, () => '[tools: ' + listing(catalog.servers) + ']');

  // ---- a model --------------------------------------------------------------------------------------

  function question(prompt, options) {
    if (typeof prompt !== 'string') throw new ToolArgumentError('retort.llm_query: prompt: ' + typeof prompt + ' is not text');
    const out = { __proto__: null, prompt };
    const { context, schema } = options || {};
    if (context !== undefined && context !== null) out.context = context;
    if (schema !== undefined && schema !== null) out.schema = schema;
    return out;
  }

  async function llmQuery(prompt, options) {
    return await ask('retort.llm_query', question(prompt, options), (answer) => answer);
  }

  async function settled(promise) {
    try {
      return await promise;
    } catch (error) {
      return error;
    }
  }

  /*
   * Return the answers in the order of the prompts. Waits for all of them. If one has failed, throws the first
   * failure, with all answers in its property `results`. With return_exceptions, failures are returned among
   * the answers.
   */
  async function llmQueryBatched(prompts, options) {
    if (!genuine.isArray(prompts)) throw new ToolArgumentError('retort.llm_query_batched: prompts: not an array');
    const questions = [];
    const promises = [];
    for (let i = 0; i < prompts.length; i++) push(questions, question(prompts[i], options));
    for (let i = 0; i < questions.length; i++)
      push(promises, settled(ask('retort.llm_query', questions[i], (answer) => answer)));
    const results = [];
    let failure = null;
    for (let i = 0; i < promises.length; i++) {
      const result = await promises[i];
      push(results, result);
      if (failure === null && result instanceof ToolError) failure = result;
    }
    if (failure === null || (options && options.return_exceptions)) return results;
    failure.results = results;
    throw failure;
  }

  return { __proto__: null, tools, llmQuery, llmQueryBatched, ask };
};
