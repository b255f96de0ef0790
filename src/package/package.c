/* SPDX-License-Identifier: Apache-2.0 */
#include "package/package.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "gateway/rule/rule.h"
#include "package/answer.h"
#include "package/ask.h"
#include "tool/toml.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ANSWER_BYTES = 1 << 20,
	FAILURE_MS = 60000,
	ASKS_MAX = 2,
	CERTIFICATES_MAX = 2,
	CHAIN_MAX = 8
};

/* What the host's pip would do: [variable or null, text] for each place that it gets packages from.
 * uv has the same places, unless its own variables say otherwise. */
static const char pip_code[] =
	"import json, os\n"
	"own, uv = os.environ.get, []\n"
	"def plain(text): return ' '.join(w.split('=', 1)[-1] for w in (text or '').split())\n"
	"uv_index = plain(own('UV_DEFAULT_INDEX') or own('UV_INDEX_URL'))\n"
	"uv_more = plain((own('UV_INDEX') or '') + ' ' + (own('UV_EXTRA_INDEX_URL') or ''))\n"
	"try:\n"
	"    from pip._internal.commands import create_command\n"
	"    from pip._internal.models.index import PyPI\n"
	"    pip = create_command('install').parse_args([])[0]\n"
	"    index, more, links = pip.index_url, pip.extra_index_urls, pip.find_links\n"
	"    usual, files = PyPI.simple_url, 'https://' + PyPI.file_storage_domain\n"
	"    if pip.no_index: index, more = None, []\n"
	"except ImportError:\n"
	"    index, usual = own('PIP_INDEX_URL') or uv_index, None\n"
	"    more, links = (own('PIP_EXTRA_INDEX_URL') or uv_more).split(), []\n"
	"    if not index: raise SystemExit(1)\n"
	"is_usual = index is not None and index.rstrip('/') == usual\n"
	"out = [[None, usual], [None, files]] if is_usual else [['PIP_INDEX_URL', index]]\n"
	"out += [['PIP_EXTRA_INDEX_URL', ' '.join(more)]]\n"
	"out += [['PIP_FIND_LINKS', ' '.join(l for l in links if '://' in l)]]\n"
	"out += [['UV_INDEX_URL', uv_index or (None if is_usual else index)]]\n"
	"out += [['UV_EXTRA_INDEX_URL', uv_more or ' '.join(more)]]\n"
	"print(json.dumps([[name, text] for name, text in out if text]))\n";

typedef int read_fn(struct package_answer *a, const char *text, struct err *err);

/* A set, and how to learn what it stands for. */
struct set {
	const char *name, *client;
	const char *asks[ASKS_MAX][6]; /* programs to run, until one gives an answer */
	read_fn *read;		       /* takes its answer, or "" if there is nothing to ask */
	const char *trusts, *hint;
	/* Variables of this process that name files of certificates. */
	const char *certificates[CERTIFICATES_MAX];
};

static int read_nonsense(const struct package_answer *a, struct err *err)
{
	return err_set(
		err, ERR_RUNTIME, "%s: what this host's client says is not understood", a->set);
}

static int read_pip(struct package_answer *a, const char *text, struct err *err)
{
	cleanup_json json_t *items = json_loads(text, 0, NULL);
	const json_t *item;
	size_t i;
	int r = json_is_array(items) ? 0 : read_nonsense(a, err);
	json_array_foreach(items, i, item)
	{
		const char *value = json_string_value(json_array_get(item, 1));
		if (!value)
			return read_nonsense(a, err);
		r = package_answer_add(a, json_string_value(json_array_get(item, 0)), value, err);
		if (r < 0)
			break;
	}
	return r;
}

/* The registry, and those of scopes: "@scope:registry". */
static int read_npm(struct package_answer *a, const char *text, struct err *err)
{
	cleanup_json json_t *all = json_loads(text, 0, NULL);
	const char *name, *registry = json_get_text(all, "registry");
	const json_t *value;
	int r = registry[0] ? package_answer_add(a, "NPM_CONFIG_REGISTRY", registry, err)
			    : read_nonsense(a, err);
	const char *certificates = json_get_text(all, "cafile");
	if (r == 0 && strncmp(certificates, "/etc/ssl/certs/", 15) == 0 &&
		!strstr(certificates, "/../"))
		r = package_answer_add(a, "NPM_CONFIG_CAFILE", certificates, err);
	json_object_foreach(all, name, value)
	{
		const char *colon = strrchr(name, ':');
		char *variable = NULL;
		if (r < 0 || name[0] != '@' || !colon || strcmp(colon, ":registry") != 0 ||
			!json_is_string(value))
			continue;
		if (asprintf(&variable, "npm_config_%s", name) < 0)
			xdie("a variable");
		r = package_answer_add(a, variable, json_string_value(value), err);
		free(variable);
	}
	return r;
}

/* The proxies, and the database of checksums: NAME[+KEY][ URL]. */
static int read_go(struct package_answer *a, const char *text, struct err *err)
{
	cleanup_json json_t *all = json_loads(text, 0, NULL);
	const char *proxy = json_get_text(all, "GOPROXY"), *sums = json_get_text(all, "GOSUMDB");
	if (!proxy[0])
		return read_nonsense(a, err);
	int r = package_answer_add(a, "GOPROXY", proxy, err);
	if (r == 0)
		r = package_answer_add(a, "GOSUMDB", sums, err);
	if (r == 0 && sums[0] && strcmp(sums, "off") != 0 && !strchr(sums, ' ')) {
		char *url = NULL;
		if (asprintf(&url, "https://%.*s", (int)strcspn(sums, "+"), sums) < 0)
			xdie("an address");
		r = package_answer_add(a, NULL, url, err);
		free(url);
	}
	return r;
}

static int read_lines(struct package_answer *a, const char *text, struct err *err)
{
	return package_answer_add(a, NULL, text, err);
}

/* ---- cargo, which cannot be asked ---- */

static int read_config(json_t **out, struct err *err)
{
	static const char *const names[] = {"config.toml", "config"};
	const char *home = getenv("CARGO_HOME"), *user = getenv("HOME");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[PATH_MAX];
		cleanup_buf struct buf text = BUF_INIT(ANSWER_BYTES);
		snprintf(path, sizeof path, "%s%s/%s",
			home	       ? home
				: user ? user
				       : "",
			home ? "" : "/.cargo", names[i]);
		if (path[0] == '/' && file_read(&text, path) == 0)
			return toml_read(buf_str(&text), text.bytes, path, out, err);
	}
	*out = json_need(json_object());
	return 0;
}

/* Add what CARGO_@kind_NAME_@end is: cargo takes it from the environment as from a file. */
static int add_cargo(struct package_answer *a, const char *kind, const char *name, const char *end,
	const char *value, struct err *err)
{
	char *variable = NULL;
	if (asprintf(&variable, "CARGO_%s_%s_%s", kind, name, end) < 0)
		xdie("a variable");
	for (char *at = variable; *at; at++)
		*at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
	int r = package_answer_add(a, variable, value, err);
	free(variable);
	return r;
}

static int read_cargo(struct package_answer *a, const char *text, struct err *err)
{
	cleanup_json json_t *config = NULL;
	const char *name;
	const json_t *registry;
	(void)text;
	int r = read_config(&config, err);
	if (r < 0)
		return err_wrap(err, "%s", a->set);
	const json_t *sources = json_object_get(config, "source");
	const json_t *source = json_object_get(sources, "crates-io");
	for (int i = 0; i < CHAIN_MAX && json_object_get(source, "replace-with"); i++)
		source = json_object_get(sources, json_get_text(source, "replace-with"));
	const char *url = json_get_text(source, "registry");
	if (url[0])
		r = package_answer_add(a, NULL, url, err);
	else if (!source && (r = package_answer_rule(a, "crates.io:443", err)) == 0)
		r = package_answer_rule(a, "*.crates.io:443", err);
	json_object_foreach(json_object_get(config, "registries"), name, registry)
	{
		const char *index = json_get_text(registry, "index");
		if (r == 0 && index[0])
			r = add_cargo(a, "REGISTRIES", name, "INDEX", index, err);
	}
	return r;
}

static const struct set sets[] = {
	{"pypi", "pip", {{"python3", "-c", pip_code}, {"/usr/bin/python3", "-c", pip_code}},
		read_pip, "PIP_TRUSTED_HOST", "install pip, or set PIP_INDEX_URL",
		{"PIP_CERT", "SSL_CERT_FILE"}},
	{"npm", "npm", {{"npm", "config", "ls", "-l", "--json"}}, read_npm, NULL, "install npm",
		{"NPM_CONFIG_CAFILE", "NODE_EXTRA_CA_CERTS"}},
	{"go", "go", {{"go", "env", "-json", "GOPROXY", "GOSUMDB"}}, read_go, NULL, "install go",
		{"SSL_CERT_FILE"}},
	{"debian", "apt-get", {{"apt-get", "indextargets", "--format", "$(REPO_URI)"}}, read_lines,
		NULL, "install apt"},
	{"crates", "cargo", {{NULL}}, read_cargo, NULL, "correct its configuration",
		{"CARGO_HTTP_CAINFO", "SSL_CERT_FILE"}},
};

/* What the clients said. Only the thread of the engine's loop asks. */
static struct known {
	struct package_answer answer;
	struct err err;
	int r;
	bool is_asked;
	int64_t until_ms; /* a failure is kept until then */
} known[ARRAY_LEN(sets)];

/* The directories of /etc that hold certificates are in a box, too. */
static int add_certificates(struct package_answer *a, const struct set *set, struct err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < CERTIFICATES_MAX && set->certificates[i]; i++) {
		const char *file = getenv(set->certificates[i]);
		if (file && strncmp(file, "/etc/ssl/certs/", 15) == 0 && !strstr(file, "/../"))
			r = package_answer_add(a, set->certificates[i], file, err);
	}
	return r;
}

static int ask(struct package_answer *a, const struct set *set, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(ANSWER_BYTES);
	int r = set->asks[0][0] ? -1 : 0;
	for (size_t i = 0; r < 0 && i < ASKS_MAX && set->asks[i][0]; i++) {
		buf_clear(&text);
		r = package_ask(&text, set->asks[i], err);
	}
	if (r < 0) {
		char why[200];
		snprintf(why, sizeof why, "%.199s", err->msg);
		err_set(err, ERR_RUNTIME,
			"%s: this host has no %s to ask where packages come from: %s", set->name,
			set->client, why);
	} else if ((r = set->read(a, buf_str(&text), err)) == 0 && a->n_rules == 0) {
		r = err_set(err, ERR_RUNTIME, "%s: this host's %s gets its packages from no host",
			set->name, set->client);
	}
	if (r < 0 && err->hint[0] == '\0')
		err_hint(err, "%s, or name the host: --net HOST", set->hint);
	return r == 0 ? add_certificates(a, set, err) : r;
}

static const struct package_answer *answer_of(const struct set *set, struct err *err)
{
	struct known *k = &known[set - sets];
	bool is_old = k->r < 0 && clock_now_ms() >= k->until_ms;
	if (!k->is_asked || is_old) {
		k->is_asked = true;
		k->err = (struct err){0};
		k->answer = (struct package_answer){.set = set->name, .trusts = set->trusts};
		k->r = ask(&k->answer, set, &k->err);
		k->until_ms = clock_now_ms() + FAILURE_MS;
		if (k->r < 0)
			package_answer_done(&k->answer);
	}
	if (k->r == 0)
		return &k->answer;
	*err = k->err;
	return NULL;
}

void package_forget(void)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		package_answer_done(&known[i].answer);
		known[i] = (struct known){.r = 0};
	}
}

/* ---- expansion ---- */

static const struct set *find(const char *rule)
{
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		if (strcmp(rule + (rule[0] == '!'), sets[i].name) == 0)
			return &sets[i];
	return NULL;
}

bool package_has_set(const char *const *net, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (find(net[i]))
			return true;
	return false;
}

static char *copy(const char *mark, const char *text)
{
	char *out = NULL;
	if (asprintf(&out, "%s%s", mark, text) < 0)
		xdie("a rule");
	return out;
}

/* A rule that names an address allows it, public or not, and "!" is refused there. */
static const char *mark_of(const char *rule)
{
	struct rule parsed;
	struct err ignored;
	bool is_name = rule_parse(&parsed, rule, &ignored) == 0 && !parsed.is_mapped &&
		parsed.kind != RULE_NETWORK;
	return is_name ? "!" : "";
}

/* Append the @n texts @list to @out; each with "!" in front, if @may_be_private. */
static void append(char ***out, size_t *n_out, char *const *list, size_t n, bool may_be_private)
{
	char **more = xcalloc(*n_out + n + 1, sizeof *more);
	for (size_t i = 0; i < *n_out; i++)
		more[i] = (*out)[i];
	for (size_t i = 0; i < n; i++)
		more[(*n_out)++] = copy(may_be_private ? mark_of(list[i]) : "", list[i]);
	free(*out);
	*out = more;
}

int package_expand(struct package_expansion *out, const char *const *net, size_t n, struct err *err)
{
	struct package_expansion e = {.net = NULL};
	e.has_set = package_has_set(net, n);
	for (size_t i = 0; e.has_set && i < n; i++) {
		const struct set *set = find(net[i]);
		char *as_given = (char *)(uintptr_t)net[i];
		if (!set) {
			append(&e.net, &e.n_net, &as_given, 1, false);
			continue;
		}
		const struct package_answer *a = answer_of(set, err);
		if (!a) {
			package_expansion_done(&e);
			return -err_errno(err->code);
		}
		append(&e.net, &e.n_net, a->rules, a->n_rules, net[i][0] == '!');
		append(&e.env, &e.n_env, a->env, a->n_env, false);
	}
	*out = e;
	return 0;
}

void package_expansion_done(struct package_expansion *e)
{
	for (size_t i = 0; i < e->n_net; i++)
		free(e->net[i]);
	for (size_t i = 0; i < e->n_env; i++)
		free(e->env[i]);
	free(e->net);
	free(e->env);
	*e = (struct package_expansion){.net = NULL};
}
