/* Operations on templates. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_order.h"
#include "api/call/inside.h"
#include "api/operation/calls.h"
#include "api/text/event.h"
#include "base/alloc.h"
#include "base/digest.h"
#include "base/json.h"
#include "registry/build/build.h"

#include <stdlib.h>
#include <string.h>

/* ---- prepared interpreters ---- */

static void start_create(struct operation_call *call)
{
	struct call_order order;
	struct err err;
	if (call_order_read(&order, call->context->registry, call->params, &err) < 0)
		call_fail(call, &err);
	else
		registry_warm(call->context->registry, &order.create, call_done, call);
	call_order_done(&order);
}

static void on_list(void *arg, const json_t *built, const struct err *err)
{
	struct operation_call *call = arg;
	struct err why = err ? *err : (struct err){0};
	json_t *list = registry_templates(call->context->registry, &why);
	if (list && built)
		json_put_shared(list, "built", built);
	else if (list) /* the engine has none */
		json_put_new(list, "built", json_array());
	call_give(call, list, &why);
}

static void start_list(struct operation_call *call)
{
	registry_built_list(call->context->registry, on_list, call);
}

/* ---- templates with packages ---- */

/* A build in progress: the call, and the listener that sends its output. */
struct building {
	struct operation_call *call;
	struct event_rest rest[2];
	struct step_listener listener;
};

static const char *const kinds[] = {"pip", "npm", "apt"};
/* the registries of each kind */
static const char *const sets[] = {"pypi", "npm", "debian"};

static void on_output(void *arg, int stream, const char *data, size_t bytes)
{
	struct building *b = arg;
	call_event(b->call, event_text(&b->rest[stream], stream, data, bytes, false));
}

/* Answer with the description @about of the template, whose reference is taken, or with @err. */
static void answer_built(
	struct operation_call *call, json_t *about, bool is_new, const struct err *err)
{
	if (about)
		json_put_bool(about, "built", is_new);
	call_give(call, about, err);
}

static void on_built(void *arg, const json_t *result, const struct err *err)
{
	struct building *b = arg;
	struct operation_call *call = b->call;
	free(b);
	answer_built(call, json_incref(json_unconst(result)), true, err);
}

static void cancel_build(struct operation_call *call)
{
	registry_build_stop(call->context->registry, call->following);
}

/*
 * A word of a command line, or of a file of requirements, must not be an option. pip ignores spaces
 * before an option, and takes a character such as U+2028 for the end of a line.
 */
static bool is_package(const char *text)
{
	size_t n = 0;
	while (text[n] >= ' ' && text[n] <= '~')
		n++;
	return n > 0 && !text[n] && text[0] != ' ' && text[0] != '-';
}

static int check_words(const json_t *params, struct err *err)
{
	size_t i;
	const json_t *word;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		json_array_foreach(param_get(params, kinds[k]), i, word)
		{
			const char *text = json_string_value(word);
			if (is_package(text))
				continue;
			return err_fail(err, ERR_USAGE, "name a package, such as numpy==1.26.4",
				"%s: \"%.60s\" is no package", kinds[k], text);
		}
	return 0;
}

/* Two builds with another environment or other rules are not the same. Values of the environment
 * may be secret, so only their digest is kept. */
static void put_options(json_t *spec, const json_t *params)
{
	static const char *const members[] = {"env", "net"};
	cleanup_json json_t *options = json_need(json_object());
	char digest[DIGEST_BYTES];
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *value = param_get(params, members[i]);
		if (json_array_size(value) > 0 || json_object_size(value) > 0)
			json_put_shared(options, members[i], value);
	}
	if (json_object_size(options) == 0)
		return;
	char *text = json_dumps(options, JSON_COMPACT | JSON_SORT_KEYS);
	digest_text(digest, text ? text : "", text ? strlen(text) : 0);
	free(text);
	json_put_text(spec, "options", digest);
}

static json_t *spec_of(const json_t *params)
{
	static const char *const members[] = {"pip", "npm", "apt", "command", "python"};
	json_t *spec = json_need(json_object());
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *value = param_get(params, members[i]);
		if (value && (json_is_string(value) || json_array_size(value) > 0))
			json_put_shared(spec, members[i], value);
	}
	put_options(spec, params);
	return spec;
}

/* Return whether the rules name the set @name, with or without "!". */
static bool has_set(const json_t *net, const char *name)
{
	size_t i;
	const json_t *rule;
	json_array_foreach(json_unconst(net), i, rule)
	{
		const char *text = json_string_value(rule);
		if (strcmp(text + (text[0] == '!'), name) == 0)
			return true;
	}
	return false;
}

/* The limits of a build, unless the call says others. Compilers and package managers need more than
 * programs of a session. */
static json_t *limits_of(const json_t *given)
{
	json_t *limits = json_pack("{s:I, s:I, s:I, s:I, s:I, s:i, s:i}", "memory_bytes",
		INT64_C(4) << 30, "disk_bytes", INT64_C(4) << 30, "file_bytes", INT64_C(8) << 30,
		"timeout_ms", INT64_C(1800000), "disk_inodes", INT64_C(1000000), "pids", 512,
		"cpus", 2);
	if (given)
		(void)json_object_update(limits, json_unconst(given));
	return limits;
}

/* Return the parameters of the box that builds: those of the call, with the registries that the
 * packages need. Owns: the caller decrefs. */
static json_t *box_params(const json_t *params)
{
	json_t *box = json_need(json_object());
	json_t *net = json_need(json_array());
	static const char *const same[] = {"python", "env"};
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		if (param_get(params, same[i]))
			json_put_shared(box, same[i], param_get(params, same[i]));
	size_t i;
	const json_t *rule;
	json_array_foreach(param_get(params, "net"), i, rule) json_add_shared(net, rule);
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		if (json_array_size(param_get(params, kinds[k])) > 0 && !has_set(net, sets[k]))
			json_add_text(net, sets[k]);
	json_put_new(box, "net", net);
	json_put_new(box, "limits", limits_of(param_get(params, "limits")));
	return box;
}

static void begin_build(struct operation_call *call)
{
	const json_t *params = call->params;
	struct call_order order = {.n_env = 0};
	struct err err;
	cleanup_json json_t *spec = spec_of(params);
	cleanup_json json_t *box = box_params(params);
	if (call_order_read(&order, call->context->registry, box, &err) < 0) {
		call_fail(call, &err);
		call_order_done(&order);
		return;
	}
	struct building *b = xnew(struct building);
	*b = (struct building){.call = call};
	b->listener = (struct step_listener){.arg = b, .output = on_output};
	const struct registry_build req = {.name = param_text(params, "name", ""),
		.spec = spec,
		.lock = param_get(params, "lock"),
		.order = order.create.order,
		.is_upgrade = param_flag(params, "upgrade"),
		.layer_bytes = param_count(params, "layer_bytes", UINT64_C(8) << 30),
		.listener = &b->listener};
	call->following = b;
	call->cancel = cancel_build;
	registry_build(call->context->registry, &req, on_built, b);
	call_order_done(&order);
}

/* If there is a template of this name that was made of the same, answer with it. */
static void on_found(void *arg, const json_t *about, const struct err *err)
{
	struct operation_call *call = arg;
	cleanup_json json_t *spec = spec_of(call->params);
	(void)err;
	if (about && json_equal(json_object_get(about, "spec"), spec))
		answer_built(call, json_incref(json_unconst(about)), false, NULL);
	else
		begin_build(call);
}

static void start_build(struct operation_call *call)
{
	const json_t *params = call->params;
	struct err err;
	cleanup_json json_t *spec = spec_of(params);
	int r = check_words(params, &err);
	(void)json_object_del(spec, "options");
	if (r == 0 && json_object_size(spec) == 0)
		r = err_fail(&err, ERR_USAGE, "name packages: pip, npm or apt; or a command",
			"there is nothing to build");
	if (r < 0)
		call_fail(call, &err);
	else if (param_flag(params, "upgrade") || param_get(params, "lock"))
		begin_build(call);
	else
		registry_built(
			call->context->registry, param_text(params, "name", ""), on_found, call);
}

static void start_get(struct operation_call *call)
{
	registry_built(
		call->context->registry, param_text(call->params, "name", ""), call_done, call);
}

static void start_remove(struct operation_call *call)
{
	registry_unbuild(
		call->context->registry, param_text(call->params, "name", ""), call_done, call);
}

/* ---- rows of the table of operations ---- */

static const struct param create_rows[] = {ORDER_ROWS};
#define ABOUT_TEMPLATE                                                                             \
	GIVES("template", PARAM_TEXT, "id of the template"),                                       \
		GIVES("ready", PARAM_FLAG, "the template has imported all modules"),               \
		GIVES("standby", PARAM_COUNT, "number of sessions that are kept ready"),           \
		MAY_GIVE("preload", PARAM_TEXTS, "imported modules")
static const struct param about_rows[] = {ABOUT_TEMPLATE};

#define NAME_ROW                                                                                   \
	{                                                                                          \
		"name", PARAM_TEXT, NEEDED, .min = 1, .max = SESSION_NAME_BYTES,                   \
					    .help = "name of the template"                         \
	}
#define WORDS .max = BUILD_PACKAGES_MAX
static const struct param build_rows[] = {
	NAME_ROW,
	{"pip", PARAM_TEXTS, WORDS, .help = "Python packages, as pip names them: pandas==2.2"},
	{"npm", PARAM_TEXTS, WORDS, .help = "packages for JavaScript, as npm names them: lodash"},
	{"apt", PARAM_TEXTS, WORDS, .help = "Debian packages; their scripts are not run"},
	{"command", PARAM_TEXTS, WORDS,
		.help = "program and its arguments, to run in the directory /opt/NAME of the "
			"template afterwards"},
	{"python", PARAM_TEXT, false, 1, PATH_BYTES,
		.help = "Python interpreter, or the directory of a virtual environment"},
	{"net", PARAM_TEXTS, .max = RULES_MAX,
		.help = "network rules, besides those of the registries that are needed"},
	{"env", PARAM_MAP, .max = 256, .help = "environment variables of the build"},
	{"lock", PARAM_MAP, .max = 16,
		.help = "`lock` of template.get: install exactly what it says"},
	{"upgrade", PARAM_FLAG, .fallback = "false",
		.help = "build again although there is a template of this name that was made of the "
			"same packages"},
	{"layer_bytes", PARAM_COUNT, false, 1 << 20, UINT64_C(1) << 50, .fallback = "8589934592",
		.help = "largest size of the template"},
	{"limits", PARAM_OBJECT, FIELDS(order_limit_rows), .help = "limits of the build"},
	{"stream", PARAM_FLAG, .fallback = "false",
		.help = "send what the package managers print, as events"},
};
static const struct param name_rows[] = {NAME_ROW};
static const struct param spec_rows[] = {
	MAY_GIVE("pip", PARAM_TEXTS, "Python packages"),
	MAY_GIVE("npm", PARAM_TEXTS, "packages for JavaScript"),
	MAY_GIVE("apt", PARAM_TEXTS, "Debian packages"),
	MAY_GIVE("command", PARAM_TEXTS, "program and its arguments"),
	MAY_GIVE("python", PARAM_TEXT, "Python interpreter"),
	MAY_GIVE("options", PARAM_TEXT, "digest of the environment and the rules of the build"),
};
static const struct param package_rows[] = {
	{"kind", PARAM_CHOICE, NEEDED, .choices = "pip|npm|apt", .help = "package manager"},
	GIVES("name", PARAM_TEXT, "name of the package"),
	GIVES("version", PARAM_TEXT, "its version"),
	GIVES("hash", PARAM_TEXT, "hash of its file: sha256:…, or sha512:…"),
};
#define ABOUT_BUILT                                                                                \
	GIVES("name", PARAM_TEXT, "name of the template"),                                         \
		GIVES("layer", PARAM_TEXT, "SHA-256 of its files: the same files have the same"),  \
		GIVES("made_ms", PARAM_COUNT, "when it was built: milliseconds since 1970"),       \
		GIVES("bytes", PARAM_COUNT, "size of its files"),                                  \
		GIVES("files", PARAM_COUNT, "number of files"),                                    \
	{                                                                                          \
		"spec", PARAM_OBJECT, NEEDED, FIELDS(spec_rows), .help = "what was asked for"      \
	}
#define PACKAGES_ROW                                                                               \
	{                                                                                          \
		"packages", PARAM_OBJECTS, NEEDED, FIELDS(package_rows),                           \
			.help = "what was installed"                                               \
	}
static const struct param get_rows[] = {
	ABOUT_BUILT,
	PACKAGES_ROW,
	GIVES("lock", PARAM_MAP,
		"what was installed, in the form in which template.build takes it"),
};
static const struct param built_rows[] = {
	ABOUT_BUILT,
	PACKAGES_ROW,
	GIVES("lock", PARAM_MAP,
		"what was installed, in the form in which template.build takes it"),
	GIVES("built", PARAM_FLAG, "false: it was there already, and nothing was done"),
};
static const struct param listed_rows[] = {
	ABOUT_BUILT,
	GIVES("packages", PARAM_COUNT, "number of packages that were installed"),
};
static const struct param list_rows[] = {
	{"templates", PARAM_OBJECTS, NEEDED, FIELDS(about_rows),
		.help = "prepared interpreters: templates in memory"},
	{"built", PARAM_OBJECTS, NEEDED, FIELDS(listed_rows), .help = "templates with packages"},
};
static const struct param removed_rows[] = {
	GIVES("in_use", PARAM_FLAG, "a box has the files, which are removed with it"),
};

static const struct operation rows[] = {
	{"template.create", "Make a template, so that sessions of the same kind start at once",
		ROWS(create_rows), RESULT(about_rows), .label = OPERATION_CALLER,
		.limits = "At most 32 templates: a new one replaces the least recently used. "
			  "session.create with the same parameters uses the template.",
		.errors = "not_found|access|runtime|box|limit|quota|gone",
		.example = "{'preload': ['json', 'csv']}",
		.answer = "{'template': 's-w5zq2mdc7k', 'ready': true, 'preload': ['json', 'csv']}",
		.start = start_create},
	{"template.build",
		"Install packages with the network, and keep them for boxes that have no network",
		ROWS(build_rows), RESULT(built_rows), .label = OPERATION_PROGRAM,
		.limits =
			"An owner builds one template at a time, the engine four. An owner has at "
			"most 32.",
		.errors = "busy|denied|quota|limit|runtime|interrupted|no_space",
		.has_events = true,
		.example = "{'name': 'words', 'command': ['sh', '-c', 'echo one two >words']}",
		.answer = "{'name': 'words', 'packages': [], 'files': 1, 'built': true}",
		.start = start_build},
	{"template.list", "List the templates", RESULT(list_rows), .label = OPERATION_CALLER,
		.example = "{}",
		.answer = "{'templates': [{'ready': true}], 'built': [{'name': 'words'}]}",
		.start = start_list},
	{"template.get", "Describe a template with packages", ROWS(name_rows), RESULT(get_rows),
		.label = OPERATION_PROGRAM, .errors = "not_found", .example = "{'name': 'words'}",
		.answer = "{'name': 'words', 'files': 1}", .start = start_get},
	{"template.remove", "Remove a template with packages", ROWS(name_rows),
		RESULT(removed_rows), .label = OPERATION_ENGINE, .errors = "not_found",
		.example = "{'name': 'words'}", .answer = "{'in_use': false}",
		.start = start_remove},
};

const struct operation_family template_family = FAMILY(rows);
