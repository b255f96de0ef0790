/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/box.h"

#include "base/file.h"
#include "base/json.h"
#include "cli/when.h"
#include "cli/secret.h"
#include "cli/screen/term.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RULES_FILE_BYTES = 64 << 10 };

/* Parse SRC without DST. In the workspace, the file gets the last component of SRC as its name. */
static int take_alone(char *text, struct volume *out, struct err *err)
{
	size_t bytes = strlen(text);
	while (bytes > 1 && text[bytes - 1] == '/')
		text[--bytes] = '\0';
	const char *slash = strrchr(text, '/');
	const char *name = slash ? slash + 1 : text;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		(void)err_set(err, ERR_USAGE,
			"--volume \"%.100s\": there is no name to call it in the box", text);
		return err_hint(err, "write %.100s:data", text);
	}
	*out = (struct volume){.src = text, .dst = name};
	return 0;
}

/* Parse SRC[:DST[:ro|rw]]. As in docker, SRC and DST cannot contain a colon. */
static int parse_volume(char *text, struct volume *out, struct err *err)
{
	char *dst = strchr(text, ':');
	if (!dst && *text)
		return take_alone(text, out, err);
	char *mode = dst ? strchr(dst + 1, ':') : NULL;
	bool is_good = dst && dst != text && dst[1] && dst + 1 != mode &&
		(!mode || strcmp(mode, ":ro") == 0 || strcmp(mode, ":rw") == 0);
	if (!is_good)
		return err_fail(err, ERR_USAGE, "for example -v ./orders.csv:orders.csv",
			"--volume \"%.150s\" is not SRC, SRC:DST or SRC:DST:rw", text);
	*dst = '\0';
	if (mode)
		*mode = '\0';
	*out = (struct volume){
		.src = text, .dst = dst + 1, .is_writable = mode && strcmp(mode + 1, "rw") == 0};
	return 0;
}

static int take_volumes(
	const struct box_args *args, struct volume *out, char **copies, struct err *err)
{
	for (size_t i = 0; i < args->volumes.n; i++) {
		copies[i] = strdup(args->volumes.item[i]);
		int r = copies[i] ? parse_volume(copies[i], &out[i], err)
				  : err_set(err, ERR_NO_MEMORY, "no memory for volumes");
		if (r < 0)
			return r;
	}
	return 0;
}

/* Add the directory of skills as a volume. It is always read-only in the box. With "DIR:rw", the
 * engine saves new skills in DIR, but the program in the box cannot write there. */
static int take_skills(
	const struct box_args *args, struct box_pieces *p, struct order *order, struct err *err)
{
	size_t n = args->volumes.n;
	if (!args->skills)
		return 0;
	p->copies[n] = strdup(args->skills);
	if (!p->copies[n])
		return err_set(err, ERR_NO_MEMORY, "no memory for volumes");
	char *mode = strrchr(p->copies[n], ':');
	if (mode && (strcmp(mode, ":rw") == 0 || strcmp(mode, ":ro") == 0))
		*mode = '\0';
	p->volumes[n] = (struct volume){.src = p->copies[n], .dst = SKILLS_DIR};
	order->n_volumes++;
	return 0;
}

/* Copy the variables of --env. "K=V" is copied unchanged. "K" gets the value of the host's
 * variable K; if that is not set, "K" is left out. */
static int take_env(const struct box_args *args, char **out, size_t *n_out, struct err *err)
{
	for (size_t i = 0; i < args->env.n; i++) {
		const char *item = args->env.item[i];
		const char *equals = strchr(item, '=');
		const char *value = equals ? equals + 1 : getenv(item);
		int n_name = (int)(equals ? equals - item : (ptrdiff_t)strlen(item));
		if (n_name == 0)
			return err_fail(err, ERR_USAGE, "write -e NAME=VALUE",
				"--env \"%.100s\" has no name", item);
		if (!value)
			continue;
		if (asprintf(&out[*n_out], "%.*s=%s", n_name, item, value) < 0)
			return err_set(err, ERR_NO_MEMORY, "no memory for variables");
		(*n_out)++;
	}
	return 0;
}

static int take_time(const char *text, int64_t *ns, struct err *err)
{
	struct err why = {0};
	if (when_parse(text, ns, &why) == 0)
		return 0;
	err_set(err, ERR_USAGE, "--time %.200s", why.msg);
	return err_hint(err, "%s", why.hint);
}

int box_publish(const struct box_args *args, const char *session, bool is_quiet, box_call_fn *call,
	void *arg, struct err *err)
{
	struct publish ports[PUBLISH_MAX];
	int r = publish_parse(ports, args->publish.item, args->publish.n, err);
	for (size_t i = 0; r == 0 && i < args->publish.n; i++) {
		json_t *opened = NULL;
		r = call(arg, "port.open", publish_params(&ports[i], session), &opened, err);
		const char *address = json_string_value(json_object_get(opened, "address"));
		if (address && !is_quiet)
			box_tell_published(ports[i].box_port, address);
		json_decref(opened);
	}
	return r;
}

void box_tell_published(uint16_t box_port, const char *address)
{
	char text[PUBLISH_TEXT_BYTES];
	publish_say(box_port, address, text);
	fprintf(stderr, "retort: %s\n", text);
}

/* ---- network rules ---- */

static int add_rule(struct box_net *net, const char *rule, struct err *err)
{
	if (net->n == ARRAY_LEN(net->rules))
		return err_set(err, ERR_LIMIT, "more than %d network rules", OPT_LIST_MAX);
	net->rules[net->n++] = rule;
	return 0;
}

/* Cut @line to its rule, without blanks around it. A word that begins with "#" starts a comment. */
static char *cut_rule(char *line)
{
	static const char blanks[] = " \t\r";
	char *rule = line + strspn(line, blanks), *end = rule;
	for (char *word = rule; *word && *word != '#'; word = end + strspn(end, blanks))
		end = word + strcspn(word, blanks);
	*end = '\0';
	return rule;
}

/* Add the rules of a file, one per line. */
static int add_rules_of(struct box_net *net, const char *path, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(RULES_FILE_BYTES);
	char *rest = NULL;
	int r = file_load(&text, path, "the file", err);
	if (r < 0)
		return r;
	char *copy = xstrdup(buf_str(&text));
	net->files[net->n_files++] = copy;
	for (char *line = strtok_r(copy, "\n", &rest); r == 0 && line;
		line = strtok_r(NULL, "\n", &rest)) {
		const char *rule = cut_rule(line);
		if (*rule == '\0')
			continue;
		if (once_check_net(&rule, 1, err) < 0)
			return err_wrap(err, "%.100s", path);
		r = add_rule(net, rule, err);
	}
	return r;
}

/* Collect the rules of @args in @net, which must be zeroed before. */
static int take_net(const struct box_args *args, struct box_net *net, struct err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < args->net.n; i++) {
		const char *rule = args->net.item[i];
		r = rule[0] == '@' ? add_rules_of(net, rule + 1, err) : add_rule(net, rule, err);
	}
	return r == 0 ? once_check_net(net->rules, net->n, err) : r;
}

static void net_done(struct box_net *net)
{
	for (size_t i = 0; i < net->n_files; i++)
		free(net->files[i]);
}

static int check_net(const struct box_args *args, struct err *err)
{
	struct box_net *net = xnew(struct box_net);
	int r = take_net(args, net, err);
	net_done(net);
	free(net);
	return r < 0 ? err_wrap(err, "--net") : 0;
}

int box_check(const struct box_args *args, struct err *err)
{
	struct publish ports[PUBLISH_MAX];
	int64_t ns;
	int r = publish_parse(ports, args->publish.item, args->publish.n, err);
	if (r < 0)
		return r;
	r = check_net(args, err);
	if (r == 0)
		r = secret_each(&args->secrets, SECRET_HAS_HOST, NULL, NULL, err);
	return r == 0 && args->time ? take_time(args->time, &ns, err) : r;
}

int box_order(const struct box_args *args, const struct opt_set *set, struct box_pieces *p,
	struct order *order, struct err *err)
{
	int64_t time_ns = 0;
	int r = take_volumes(args, p->volumes, p->copies, err);
	if (r == 0 && args->time)
		r = take_time(args->time, &time_ns, err);
	if (r == 0)
		r = take_env(args, p->env, &p->n_env, err);
	if (r == 0)
		r = take_net(args, &p->net, err);
	if (r < 0)
		return r;
	*order = (struct order){.runtime = args->runtime,
		.volumes = p->volumes,
		.n_volumes = args->volumes.n,
		.workspace = args->workspace,
		.rootfs = args->rootfs,
		.image_name = args->image,
		.interpreter = args->python,
		.template = args->template,
		.env = (const char *const *)p->env,
		.n_env = p->n_env,
		.net = p->net.rules,
		.n_net = p->net.n,
		.limits = args->limits,
		.has_seed = opt_source(set, "seed") != OPT_UNSET,
		.seed = args->seed,
		.has_time = args->time != NULL,
		.time_ns = time_ns};
	return take_skills(args, p, order, err);
}

static int add_secret(void *arg, const struct secret_given *s, struct err *err)
{
	return secret_list_add(arg, s->name, s->to, s->value, strlen(s->value), err);
}

int box_complete(
	const struct box_args *args, struct box_pieces *p, struct order *order, struct err *err)
{
	int r = secret_each(
		&args->secrets, SECRET_HAS_HOST | SECRET_GET_VALUE, add_secret, &p->secrets, err);
	if (r == 0)
		r = secret_list_extend(&p->secrets, order, err);
	return r < 0 ? r : package_list_extend(&p->packages, order, err);
}

void box_pieces_done(struct box_pieces *p)
{
	package_list_done(&p->packages);
	secret_list_done(&p->secrets);
	for (size_t i = 0; i < ARRAY_LEN(p->copies); i++)
		free(p->copies[i]);
	for (size_t i = 0; i < ARRAY_LEN(p->env); i++)
		free(p->env[i]);
	net_done(&p->net);
}

/* ---- options as parameters of session.create ---- */

/* Return @path as an absolute path. Links are not resolved, so that error messages show the path
 * that the user wrote. */
static json_t *absolute(const char *path)
{
	char here[PATH_MAX];
	char *text = NULL;
	if (!path)
		return NULL;
	if (path[0] == '/' || !getcwd(here, sizeof here))
		return json_string(path);
	if (asprintf(&text, "%s/%s", here, path) < 0)
		return NULL;
	json_t *json = json_string(text);
	free(text);
	return json;
}

static void set_path(json_t *params, const char *name, const char *path)
{
	if (path)
		json_put_new(params, name, absolute(path));
}

static json_t *volumes_json(const struct order *order)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < order->n_volumes; i++) {
		const struct volume *v = &order->volumes[i];
		json_add_new(rows,
			json_pack("{s:o, s:s, s:s}", "src", absolute(v->src), "dst", v->dst, "mode",
				v->is_writable ? "rw" : "ro"));
	}
	return rows;
}

static json_t *env_json(const struct order *order)
{
	json_t *env = json_object();
	for (size_t i = 0; i < order->n_env; i++) {
		const char *equals = strchr(order->env[i], '=');
		char *name = strndup(order->env[i], (size_t)(equals - order->env[i]));
		if (name)
			json_put_text(env, name, equals + 1);
		free(name);
	}
	return env;
}

static json_t *limits_json(const struct limits *limits)
{
	static const char *const names[LIMIT_END_] = {
#define X(name, value, what) [LIMIT_##name] = #name,
		LIMITS(X)
#undef X
	};
	json_t *json = json_object();
	for (int i = 0; i < LIMIT_END_; i++)
		if (i != LIMIT_cpu_milli && (i != LIMIT_cpu_ms || limits->value[i] > 0))
			json_put_int(json, names[i], limits->value[i]);
	json_put_new(json, "cpus", json_real((double)limits->value[LIMIT_cpu_milli] / 1000));
	return json;
}

/* Convert a text such as "a, b" to a JSON list. */
static json_t *preload_json(const char *text)
{
	json_t *list = json_array();
	while (text && *text) {
		text += strspn(text, ", ");
		size_t bytes = strcspn(text, ", ");
		if (bytes > 0)
			json_add_new(list, json_stringn(text, bytes));
		text += bytes;
	}
	return list;
}

static json_t *net_json(const struct order *order)
{
	json_t *list = json_array();
	for (size_t i = 0; i < order->n_net; i++)
		json_add_text(list, order->net[i]);
	return list;
}

static int put_secrets(json_t *params, const struct box_args *args, struct err *err)
{
	if (args->secrets.n == 0)
		return 0;
	json_t *list = json_need(json_array());
	json_put_new(params, "secrets", list);
	return secret_each(
		&args->secrets, SECRET_HAS_HOST | SECRET_GET_VALUE, secret_add_row, list, err);
}

json_t *box_params(const struct box_args *args, const struct opt_set *set, struct err *err)
{
	struct order order;
	json_t *params = NULL;
	struct box_pieces *p = xnew(struct box_pieces);
	if (box_order(args, set, p, &order, err) == 0) {
		params = json_pack("{s:o, s:o, s:o, s:o}", "volumes", volumes_json(&order), "env",
			env_json(&order), "limits", limits_json(&order.limits), "preload",
			preload_json(args->preload));
		if (order.n_net > 0)
			json_put_new(params, "net", net_json(&order));
		if (args->runtime)
			json_put_text(params, "runtime", args->runtime);
		if (args->template)
			json_put_text(params, "template", args->template);
		if (args->image)
			json_put_text(params, "image", args->image);
		bool is_of_host = !args->image && !args->rootfs;
		if (args->python && strchr(args->python, '/') && is_of_host)
			set_path(params, "python", args->python);
		else if (args->python)
			json_put_text(params, "python", args->python);
		set_path(params, "rootfs", args->rootfs);
		set_path(params, "workspace", args->workspace);
		if (order.has_seed)
			json_put_int(params, "seed", order.seed);
		if (order.has_time)
			json_put_new(params, "time", json_real((double)order.time_ns / 1e9));
		json_put_bool(params, "fresh", args->fresh);
		if (!params)
			(void)err_set(err, ERR_NO_MEMORY, "no memory for options");
		else if (put_secrets(params, args, err) < 0)
			json_decref(take_ptr(params));
	}
	if (p)
		box_pieces_done(p);
	free(p);
	return params;
}

void box_tell_columns(json_t *create)
{
	json_t *env = json_object_get(create, "env");
	char columns[16];
	snprintf(columns, sizeof columns, "%d", term_columns(STDOUT_FILENO));
	if (term_is(STDOUT_FILENO) && env && !json_object_get(env, "COLUMNS"))
		json_put_text(env, "COLUMNS", columns);
}
