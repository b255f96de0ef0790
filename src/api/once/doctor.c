/*
 * `retort doctor`: find out what this host can enforce. doctor_look() checks the host. Then a
 * program in a box, self_test, checks the box from inside, and gives a result for each key of
 * self_rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/once/doctor.h"

#include "api/once/once.h"
#include "base/buf.h"
#include "base/json.h"
#include "runtime/toolchain.h"
#include "session/start/host.h"

#include <stdio.h>
#include <string.h>

/* The Python program that checks a box from inside. It ends in an expression, a dict with the keys
 * of self_rows. */
static const char self_test[] =
	"import os, socket\n"
	"def status():\n"
	"    with open('/proc/self/status') as f:\n"
	"        return dict(line.split(':', 1) for line in f if ':' in line)\n"
	"def refused(attempt):\n"
	"    try:\n"
	"        attempt()\n"
	"    except OSError:\n"
	"        return True\n"
	"    return False\n"
	"s = status()\n"
	"def connect():\n"
	"    with socket.socket() as c:\n"
	"        c.settimeout(1)\n"
	"        c.connect(('192.0.2.1', 80))\n"
	"def leads(name):\n"
	"    return socket.gethostbyname(name).startswith('198.18.')\n"
	"{'user': os.getuid() == 1000 and os.getgid() == 1000,\n"
	" 'capabilities': int(s['CapEff'], 16) == 0 and int(s['CapBnd'], 16) == 0,\n"
	" 'new privileges': s['NoNewPrivs'].strip() == '1',\n"
	" 'filter': s['Seccomp'].strip() == '2',\n"
	" 'processes': all(int(p) < 100 for p in os.listdir('/proc') if p.isdigit()),\n"
	" 'files': refused(lambda: open('/usr/retort-test', 'w')) and refused(lambda: open('/test', 'w')),\n"
	" 'secrets': refused(lambda: open('/etc/shadow')) and not os.path.exists('/root'),\n"
	" 'network': refused(connect),\n"
	" 'network rules': leads('retort.invalid') and refused(lambda: leads('other.invalid')),\n"
	" 'workspace': os.getcwd() == '/home/user' and not refused(lambda: open('t', 'w'))}\n";

static const struct {
	const char *key, *what;
} self_rows[] = {
	{"user", "programs run as uid 1000"},
	{"capabilities", "no capabilities, and none can be gained"},
	{"new privileges", "setuid programs gain no privileges"},
	{"filter", "the syscall filter is loaded"},
	{"processes", "processes of the host are invisible"},
	{"files", "the system is read-only"},
	{"secrets", "no files of the host except /usr"},
	{"network", "no network but the loopback"},
	{"network rules", "names that rules of --net allow lead to the gateway, others nowhere"},
	{"workspace", "the workspace is writable"},
};

/* No server has this name, and none is asked for it. */
const char *const doctor_rules[DOCTOR_RULES] = {"retort.invalid"};

static const char *const states[] = {"ok", "weak", "missing"};

static void add_check(json_t *checks, const char *name, enum host_state state, const char *what,
	const char *instead, const char *hint)
{
	json_t *row =
		json_pack("{s:s, s:s, s:s}", "name", name, "state", states[state], "what", what);
	if (instead && instead[0])
		json_put_text(row, "instead", instead);
	if (hint && hint[0])
		json_put_text(row, "hint", hint);
	(void)json_array_append_new(checks, row);
}

/* Add the results of the program in the box. Returns: whether all checks succeeded. */
static bool judge_box(json_t *checks, const json_t *record)
{
	const json_t *seen = json_object_get(json_object_get(record, "value"), "application/json");
	const char *status = json_string_value(json_object_get(record, "status"));
	const json_t *error = json_object_get(record, "error");
	const char *message = json_string_value(json_object_get(error, "message"));
	bool is_tight = true;
	if (!seen) {
		char what[512];
		snprintf(what, sizeof what, "the self-test ended with %s: %s",
			status ? status : "nothing", message ? message : "no message");
		add_check(checks, "box", HOST_MISSING, what, NULL,
			"see what is wrong: retort run -c 'print(1)'");
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(self_rows); i++) {
		bool good = json_is_true(json_object_get(seen, self_rows[i].key));
		char name[64];
		snprintf(name, sizeof name, "box: %s", self_rows[i].key);
		add_check(checks, name, good ? HOST_OK : HOST_MISSING,
			good ? self_rows[i].what : "is not true in a real box", NULL,
			good ? NULL : "do not run untrusted code here; report it with --json");
		is_tight = is_tight && good;
	}
	return is_tight;
}

static void judge_limits(json_t *checks, const json_t *limits)
{
	const char *name;
	json_t *limit;
	json_object_foreach(json_unconst(limits), name, limit)
	{
		const char *by = json_string_value(json_object_get(limit, "by"));
		bool is_weak = !by || strcmp(by, "affinity") == 0 ||
			(strcmp(by, "engine") == 0 && strcmp(name, "memory_bytes") == 0) ||
			(strcmp(by, "rlimit") == 0 && strcmp(name, "pids") == 0);
		char label[64];
		snprintf(label, sizeof label, "limit: %s", name);
		add_check(checks, label, is_weak ? HOST_WEAK : HOST_OK,
			by ? "enforced" : "not enforced", by, is_weak ? host_cgroup_hint() : NULL);
	}
}

static void add_word(struct buf *out, const char *word)
{
	buf_addf(out, "%s%s", out->bytes ? ", " : "", word);
}

/* Add the languages of program.run: which there are, and what to install for the others. */
static void add_languages(json_t *checks)
{
	cleanup_buf struct buf here = BUF_INIT(4096), packages = BUF_INIT(4096),
			       hint = BUF_INIT(4096);
	char path[PATH_MAX];
	const struct toolchain *t;
	for (size_t i = 0; (t = toolchain_at(i)); i++) {
		if (toolchain_find(t->language) != t)
			continue;
		if (toolchain_program(t, path))
			add_word(&here, t->language);
		else if (t->package)
			add_word(&packages, t->package);
	}
	if (packages.bytes > 0)
		buf_addf(&hint, "more, in Debian: apt install %s", buf_str(&packages));
	add_check(checks, "languages", HOST_OK, buf_str(&here), NULL, buf_str(&hint));
}

json_t *doctor_look(void)
{
	bool ok = true;
	json_t *checks = json_array();
	for (size_t i = 0; i < host_n_checks(); i++) {
		struct host_check c;
		host_check(i, &c);
		add_check(checks, c.name, c.state, c.what, c.instead, c.hint);
		ok = ok && c.state != HOST_MISSING;
	}
	add_languages(checks);
	return json_pack("{s:b, s:o}", "ok", ok, "checks", checks);
}

const char *doctor_code(void)
{
	return self_test;
}

void doctor_judge(json_t *found, const json_t *record, const struct err *err)
{
	json_t *checks = json_object_get(found, "checks");
	json_t *limits = json_object_get(record, "limits");
	bool ok = json_is_true(json_object_get(found, "ok"));
	if (!record) {
		add_check(checks, "box", HOST_MISSING, err->msg, NULL, err->hint);
		ok = false;
	} else {
		ok = judge_box(checks, record) && ok;
		judge_limits(checks, limits);
	}
	if (limits)
		(void)json_object_set(found, "limits", limits);
	json_put_bool(found, "ok", ok);
}

int doctor_check(json_t **out, struct err *err)
{
	static const char *const argv[] = {"doctor", NULL};
	struct once_request req = {.order = {.code = self_test,
					   .code_bytes = sizeof self_test - 1,
					   .filename = "<doctor>",
					   .net = doctor_rules,
					   .n_net = DOCTOR_RULES,
					   .limits = order_default_limits()},
		.argv = argv,
		.stdin_fd = -1};
	struct once_result result;
	struct err why = {0};
	json_t *found = doctor_look();
	if (!found)
		return err_set(err, ERR_NO_MEMORY, "no memory to check the host");
	int r = once_run(&req, &result, &why);
	doctor_judge(found, r < 0 ? NULL : result.record, &why);
	json_decref(result.record);
	*out = found;
	return json_is_true(json_object_get(found, "ok"));
}
