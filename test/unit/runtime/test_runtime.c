/* Which runtime, and what Python needs of a host: in made-up installations.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/runtime.h"
#include "runtime/start.h"

#include "t.h"
#include "tree.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(by_name)
{
	CHECK(runtime_by_name("python") == &runtime_python);
	static const char *const unknown[] = {
		"", "pytho", "pythonx", "|", "py|pyw", "|py|", "perl"};
	static const char *const others[] = {"Python", "python3", "py", "PY"};
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		CHECK(runtime_by_name(others[i]) == &runtime_python);
	CHECK(runtime_by_name("ts") == &runtime_node);
	CHECK(runtime_by_name("typescript") == &runtime_node);
	CHECK(runtime_by_name("node") == &runtime_node);
	CHECK(runtime_by_name("bash") == &runtime_shell);
	CHECK(runtime_by_name("sqlite3") == &runtime_sql);
	for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
		CHECK(runtime_by_name(unknown[i]) == NULL);
	CHECK(runtime_by_name("javascript") == &runtime_node);
	CHECK_HAS(runtime_names(), "python");
	CHECK_HAS(runtime_names(), "javascript");
}

static const struct runtime *guess(const char *name, const char *code)
{
	const struct runtime *found = NULL;
	struct err err = {0};
	int r = runtime_guess(name, code, strlen(code), &found, &err);
	CHECK((r == 0 || !found) && (r == 0) == (err.hint[0] == '\0'));
	return r == 0 && !found ? &runtime_python : found; /* as a program that says nothing */
}

TEST(javascript_is_told)
{
	static const char *const names[] = {"x.js", "a/x.mjs", "x.cjs", "x.ts", "x.mts", "x.cts"};
	static const char *const lines[] = {"#!/usr/bin/node\n", "#!/usr/bin/env node",
		"#!/x/nodejs -x", "#!/usr/bin/env -S node --no-warnings\n",
		"#!/usr/bin/env -i A=1 node22\n"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		CHECK(guess(names[i], "") == &runtime_node);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		CHECK(guess("x", lines[i]) == &runtime_node);
	CHECK(guess("x.py", lines[0]) == &runtime_python);
}

/* No name and no first line leads astray. */
TEST(guesses)
{
	static const char *const names[] = {NULL, "", "x.py", "x.pyw", "x", "x.", ".py", "x.py/y",
		"x.py|pyw", "x.|", "-", "x.PY", "x.2024", "tmp.hT5xPq0aZk", "a.rb/x"};
	static const char *const lines[] = {"", "#!", "#!\n", "#! \n", "#!/usr/bin/python3\n",
		"#!/usr/bin/env python3", "#!/usr/bin/env -S python3 -u\n", "#!/usr/bin/env\n",
		"#!/usr/bin/env -S\n", "#! /bin/python3.12 -e\r\n", "#!/\n", "#!//////",
		"print(1)\n", "#", "#!\t\t", "#!python3\r\nimport x\n"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (size_t k = 0; k < ARRAY_LEN(lines); k++)
			CHECK(guess(names[i], lines[k]) == &runtime_python);
	CHECK(guess("x.sh", "") == &runtime_shell);
	CHECK(guess("x.bash", "") == &runtime_shell);
	CHECK(guess("x", "#! /bin/sh -e\r\n") == &runtime_shell);
	CHECK(guess("x.py", "#!/bin/sh\n") == &runtime_python);
}

/* A program in another language is not run as Python. */
TEST(other_languages)
{
	static const char *const names[] = {"x.rb", "a.b/x.pl", "n.ipynb", "x.jsx", "x.c", "x.F90",
		"d.csv", "d.PARQUET", "x.heard"};
	static const char *const lines[] = {"#!/usr/bin/awk -f\n", "#!/usr/bin/env perl",
		"#!/usr/bin/env -S deno run\n", "#!/bin/pythonx\n", "#!\xff\xff"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		CHECK(guess(names[i], "") == NULL);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		CHECK(guess("x", lines[i]) == NULL);
	CHECK(guess("x.rb", "#!/bin/sh\n") == &runtime_shell);
	CHECK(guess("x.py", "#!/usr/bin/perl\n") == &runtime_python);
}

TEST(why_it_is_not_run)
{
	static const char *const rows[][3] = {{"x.rb", "", "does not run Ruby"},
		{"x.R", "", "does not run R;"}, {"p.pl", "", "does not run Perl"},
		{"p", "#!/usr/bin/env perl -w\n", "does not run Perl"}, {"d.csv", "", "-v FILE"},
		{"d.docx", "", "-v FILE"}, {"d.parquet", "", "-v FILE"},
		{"n.ipynb", "", "retort run"}, {"x.zzz", "", "`runtime`"},
		{"csv", "#!/bin/csv\n", "`runtime`"}, {"x", "#!.rb", "does not run Ruby"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct runtime *found = NULL;
		struct err err = {0};
		CHECK_INT(runtime_guess(rows[i][0], rows[i][1], strlen(rows[i][1]), &found, &err),
			-ENOEXEC);
		CHECK_INT(err.code, ERR_RUNTIME);
		CHECK(strstr(err.hint, rows[i][2]) != NULL);
	}
}

/* Not a byte behind the end is looked at. */
TEST(guess_of_a_line_without_end)
{
	const char *line = "#!/usr/bin/env python3";
	for (size_t n = 0; n <= strlen(line); n++) {
		char *exact = malloc(n + (n == 0));
		memcpy(exact, line, n);
		const struct runtime *found = NULL;
		struct err err = {0};
		int r = runtime_guess("x", exact, n, &found, &err);
		CHECK((r == 0 || !found) && (r == 0 || n < strlen(line) - 1));
		CHECK((n < 2 && r == 0) || n < strlen(line) - 1 || found == &runtime_python);
		free(exact);
	}
}

#define START cleanup(runtime_start_done) struct runtime_start

TEST(lists_are_bounded)
{
	START s = {0};
	struct err err;
	for (int i = 0; i < RUNTIME_ARGS_MAX; i++)
		CHECK_INT(runtime_add(s.argv, RUNTIME_ARGS_MAX, &err, "%d", i), 0);
	CHECK_STR(s.argv[RUNTIME_ARGS_MAX - 1], "15");
	CHECK_INT(runtime_add(s.argv, RUNTIME_ARGS_MAX, &err, "x"), -E2BIG);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK(s.argv[RUNTIME_ARGS_MAX] == NULL);
}

TEST(binds)
{
	TREE t = tree_new();
	START s = {0};
	struct err err;
	struct stat st;
	tree_put(&t, "/a/x", "");
	CHECK_INT(stat(tree_path(&t, "/a"), &st), 0);
	CHECK_INT(runtime_bind(&s, "/usr/share", NULL, &err), 0);
	CHECK_INT(runtime_bind(&s, "/usr", NULL, &err), 0);
	CHECK_INT(runtime_bind(&s, "/usrx/nonexistent", NULL, &err), -ENOENT);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	CHECK_INT(s.n_binds, 0);
	CHECK_INT(runtime_bind(&s, tree_path(&t, "/a"), NULL, &err), 0);
	CHECK_INT(runtime_bind(&s, tree_path(&t, "/a"), NULL, &err), 0); /* once is enough */
	CHECK_INT(s.n_binds, 1);
	CHECK_INT(s.binds[0].kind, BIND_INSTALLATION);
	CHECK_INT(s.binds[0].dev, st.st_dev);
	CHECK_INT(s.binds[0].ino, st.st_ino);
	CHECK_STR(s.binds[0].src, tree_path(&t, "/a"));
	CHECK_STR(s.binds[0].dst, tree_path(&t, "/a"));
	CHECK_INT(runtime_bind(&s, "/usr", "/elsewhere", &err), 0);
	CHECK_STR(s.binds[1].src, "/usr");
	CHECK_STR(s.binds[1].dst, "/elsewhere");
}

TEST(binds_are_bounded)
{
	START s = {0};
	struct err err;
	char dst[32];
	for (int i = 0; i < RUNTIME_BINDS_MAX; i++) {
		snprintf(dst, sizeof dst, "/d%d", i);
		CHECK_INT(runtime_bind(&s, "/", dst, &err), 0);
	}
	CHECK_INT(runtime_bind(&s, "/", "/more", &err), -E2BIG);
	CHECK_INT(err.code, ERR_LIMIT);
	char path[WIRE_PATH_BYTES + 8];
	START fresh = {0};
	memset(path, '/', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	CHECK(runtime_bind(&fresh, "/", path, &err) < 0);
	CHECK_INT(fresh.n_binds, 0);
}

struct host {
	struct tree tree;
	struct runtime_request req;
	struct runtime_start start;
	struct err err;
	char interpreter[PATH_MAX], drivers[PATH_MAX];
};

static void host_done(struct host *h)
{
	runtime_start_done(&h->start);
	tree_done(&h->tree);
}
#define HOST cleanup(host_done) struct host

/* An installation in /base, drivers in /drivers. */
static void host_open(struct host *h)
{
	*h = (struct host){.tree = tree_new()};
	tree_put(&h->tree, "/base/bin/python3.11", "");
	CHECK_INT(chmod(tree_path(&h->tree, "/base/bin/python3.11"), 0755), 0);
	CHECK_INT(symlink("python3.11", tree_path(&h->tree, "/base/bin/python3")), 0);
	tree_put(&h->tree, "/base/lib/python3.11/os.py", "");
	tree_put(&h->tree, "/secrets/x/id_rsa", "");
	tree_put(&h->tree, "/drivers/python/driver.py", "");
	snprintf(h->drivers, sizeof h->drivers, "%s/drivers", h->tree.root);
	h->req = (struct runtime_request){
		.drivers_dir = h->drivers, .session = "s-x", .cpu_milli = 1000};
}

static int start(struct host *h, const char *interpreter)
{
	snprintf(h->interpreter, sizeof h->interpreter, "%s", tree_path(&h->tree, interpreter));
	h->req.interpreter = h->interpreter;
	return runtime_python.start(&h->req, &h->start, &h->err);
}

/* Each a path of the tree, in order, then the drivers. */
static void check_binds(const struct host *h, const char *const *want, size_t n)
{
	CHECK_INT(h->start.n_binds, n + 1);
	for (size_t i = 0; i < n && i < h->start.n_binds; i++)
		CHECK_STR(h->start.binds[i].src, tree_path(&h->tree, want[i]));
	if (h->start.n_binds > n) {
		CHECK_STR(h->start.binds[n].src, tree_path(&h->tree, "/drivers/python"));
		CHECK_STR(h->start.binds[n].dst, "/retort/python.importlib._bootstrap");
	}
}
#define CHECK_BINDS(h, ...)                                                                        \
	check_binds(&(h), (const char *const[]){__VA_ARGS__},                                      \
		ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

static const char *variable(const struct host *h, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; h->start.envp[i]; i++)
		if (strncmp(h->start.envp[i], name, n) == 0 && h->start.envp[i][n] == '=')
			return h->start.envp[i] + n + 1;
	return NULL;
}

TEST(python_plain)
{
	HOST h;
	host_open(&h);
	CHECK_INT(start(&h, "/base/bin/python3.11"), 0);
	CHECK_BINDS(h, "/base");
	CHECK_STR(h.start.argv[0], h.interpreter);
	CHECK_STR(variable(&h, "RETORT_SESSION"), "s-x");
	CHECK_STR(variable(&h, "OMP_NUM_THREADS"), "1");
	CHECK(variable(&h, "PYTHONHASHSEED") == NULL);
}

TEST(python_path_is_made_plain)
{
	HOST h;
	host_open(&h);
	CHECK_INT(start(&h, "/base/./bin/..//bin/python3.11"), 0);
	CHECK_STR(h.start.argv[0], tree_path(&h.tree, "/base/bin/python3.11"));
	CHECK_BINDS(h, "/base");
}

TEST(python_chain_of_links)
{
	HOST h;
	host_open(&h);
	tree_put(&h.tree, "/mid/lib64/python3.11/os.py", "");
	CHECK_INT(mkdir(tree_path(&h.tree, "/mid/bin"), 0755), 0);
	tree_put(&h.tree, "/env/pyvenv.cfg", "");
	CHECK_INT(mkdir(tree_path(&h.tree, "/env/bin"), 0755), 0);
	CHECK_INT(symlink("../../base/bin/python3.11", tree_path(&h.tree, "/mid/bin/python3")), 0);
	CHECK_INT(symlink(tree_path(&h.tree, "/mid/bin/python3"),
			  tree_path(&h.tree, "/env/bin/python3")),
		0);
	CHECK_INT(start(&h, "/env/bin/python3"), 0);
	CHECK_BINDS(h, "/env", "/mid", "/base");
	CHECK_STR(h.start.argv[0],
		h.interpreter); /* as it was named: pyvenv.cfg is looked for beside it */
}

/* What a link's directory belongs to is nobody's business but the installation's. */
TEST(python_link_in_a_home)
{
	HOST h;
	host_open(&h);
	tree_put(&h.tree, "/secrets/bin/x", "");
	CHECK_INT(symlink("../../base/bin/python3.11", tree_path(&h.tree, "/secrets/bin/py")), 0);
	CHECK_INT(start(&h, "/secrets/bin/py"), 0);
	CHECK_BINDS(h, "/base");
	CHECK_STR(h.start.argv[0], tree_path(&h.tree, "/base/bin/python3.11"));
	CHECK_INT(chmod(tree_path(&h.tree, "/secrets/bin/x"), 0755), 0);
	runtime_start_done(&h.start);
	CHECK(start(&h, "/secrets/bin/x") < 0);
	CHECK_INT(h.err.code, ERR_RUNTIME);
}

/* A copied interpreter: only pyvenv.cfg leads to its base. */
TEST(python_virtual_environments)
{
	static const struct {
		const char *config; /* %s: the tree */
		bool has_base;
	} rows[] = {
		{"home = %s/base/bin\n", true},
		{"include-system-site-packages = false\nhome=%s/base/bin\r\nversion = 3\n", true},
		{"  home\t=\t%s/base/bin", true}, {"homepage = %s/base/bin\n", false},
		{"home %s/base/bin\n", false}, {"home = \n", false}, {"home = base/bin\n", false},
		{"", false}, {"nothome = %s/base/bin\n", false}, {"home x%s/base/bin\n", false},
		{"home = %s/secrets/x\n", false}, /* no Python lives there: not ours to show */
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		HOST h;
		char config[512];
		host_open(&h);
		tree_put(&h.tree, "/venv/bin/python3", "");
		CHECK_INT(chmod(tree_path(&h.tree, "/venv/bin/python3"), 0755), 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(config, sizeof config, rows[i].config, h.tree.root);
#pragma GCC diagnostic pop
		tree_put(&h.tree, "/venv/pyvenv.cfg", config);
		CHECK_INT(start(&h, "/venv"), 0); /* its directory stands for it */
		if (rows[i].has_base)
			CHECK_BINDS(h, "/venv", "/base");
		else
			CHECK_BINDS(h, "/venv");
		CHECK_STR(h.start.argv[0], tree_path(&h.tree, "/venv/bin/python3"));
	}
}

TEST(python_that_is_not_there)
{
	static const char *const rows[] = {"/nowhere", "/secrets", "/base/bin",
		"/drivers/python/driver.py", "/loop", "/dangling"};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		HOST h;
		host_open(&h);
		CHECK_INT(symlink("loop", tree_path(&h.tree, "/loop")), 0);
		CHECK_INT(symlink("nowhere", tree_path(&h.tree, "/dangling")), 0);
		CHECK(start(&h, rows[i]) < 0);
		CHECK_INT(h.err.code, ERR_RUNTIME);
		CHECK_HAS(h.err.msg, rows[i]);
		CHECK_HAS(h.err.hint, "--python");
	}
}

TEST(python_of_the_root_is_refused)
{
	HOST h;
	host_open(&h);
	h.req.interpreter = "/python3";
	int r = runtime_python.start(&h.req, &h.start, &h.err);
	CHECK(r < 0);
	CHECK_INT(h.err.code, ERR_RUNTIME);
}

TEST(python_without_its_drivers)
{
	HOST h;
	host_open(&h);
	h.req.drivers_dir = "/nonexistent";
	CHECK(start(&h, "/base/bin/python3.11") < 0);
	CHECK_INT(h.err.code, ERR_NOT_FOUND);
	CHECK_HAS(h.err.hint, "install retort again");
}

TEST(python_in_an_image)
{
	static const char *image_env[] = {"PATH=/opt/bin:/bin", "A=image", "B=image", "USER=app"};
	static const char *const mine[] = {"A=mine"};
	HOST h;
	host_open(&h);
	h.req.has_image = true;
	h.req.image_env = image_env;
	h.req.n_image_env = ARRAY_LEN(image_env);
	h.req.env = mine;
	h.req.n_env = ARRAY_LEN(mine);
	CHECK_INT(runtime_python.start(&h.req, &h.start, &h.err), 0);
	CHECK_STR(h.start.argv[0], "python3"); /* searched for in PATH */
	CHECK_INT(h.start.n_binds, 1);	       /* only the driver */
	CHECK_STR(variable(&h, "PATH"), "/opt/bin:/bin");
	CHECK_STR(variable(&h, "A"), "mine");
	CHECK_STR(variable(&h, "B"), "image");
	CHECK_STR(variable(&h, "USER"), "app");
	CHECK(!variable(&h, "NPM_CONFIG_PREFIX")); /* packages go into the system */
	CHECK_STR(variable(&h, "DEBIAN_FRONTEND"), "noninteractive");
	HOST named;
	host_open(&named);
	named.req.has_image = true;
	named.req.interpreter = "/base/bin/python3.11";
	CHECK_INT(runtime_python.start(&named.req, &named.start, &named.err), 0);
	CHECK_STR(named.start.argv[0], "/base/bin/python3.11");
	CHECK_STR(variable(&named, "PATH"),
		"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	CHECK_STR(variable(&named, "USER"), "root");
}

TEST(python_environment)
{
	static const char *const mine[] = {
		"HOME=/elsewhere", "A=1", "A=2", "PYTHONHASHSEED=7", "HOMER=x"};
	HOST h;
	host_open(&h);
	tree_put(&h.tree, "/drivers/still/still.so", "");
	h.req.env = mine;
	h.req.n_env = ARRAY_LEN(mine);
	h.req.has_seed = true;
	h.req.seed = 42;
	h.req.cpu_milli = 2500;
	CHECK_INT(start(&h, "/base/bin/python3.11"), 0);
	CHECK_STR(variable(&h, "HOME"), "/elsewhere"); /* the caller's win */
	CHECK_STR(variable(&h, "A"), "2");	       /* the last of theirs counts */
	CHECK_STR(variable(&h, "HOMER"), "x");
	CHECK_STR(variable(&h, "PYTHONHASHSEED"), "7");
	CHECK_STR(variable(&h, "OPENBLAS_NUM_THREADS"), "3");
	CHECK_STR(variable(&h, "TMPDIR"), "/tmp");
	CHECK_HAS(variable(&h, "PATH"), "/base/bin:/usr/local/bin:/usr/bin:/bin"); /* not ours */
	CHECK(!variable(&h, "PIP_PREFIX") && !variable(&h, "PYTHONPATH"));
}

TEST(packages_beside_a_virtual_environment)
{
	static const struct {
		const char *config, *path;
	} rows[] = {{"home = /usr/bin\nversion = 3.11.2\n",
			    "/home/user/.local/lib/python3.11/site-packages"},
		{"version_info = 3.9.1.final.0\n", "/home/user/.local/lib/python3.9/site-packages"},
		{"versions = 3.1\n", NULL}, {"version = x\n", NULL}, {"", NULL}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		HOST h;
		host_open(&h);
		tree_put(&h.tree, "/env/pyvenv.cfg", rows[i].config);
		CHECK_INT(mkdir(tree_path(&h.tree, "/env/bin"), 0755), 0);
		CHECK_INT(symlink(tree_path(&h.tree, "/base/bin/python3"),
				  tree_path(&h.tree, "/env/bin/python3")),
			0);
		CHECK_INT(start(&h, "/env/bin/python3"), 0);
		const char *path = variable(&h, "PYTHONPATH");
		CHECK(!path == !rows[i].path && !variable(&h, "PIP_PREFIX") == !path);
		if (path && rows[i].path)
			CHECK_STR(path, rows[i].path);
	}
}

TEST(still_runs)
{
	static const char *const mine[] = {"LD_PRELOAD=a.so", "LD_PRELOAD=b.so", "RETORT_STILL=x"};
	HOST plain, seeded, timed;
	host_open(&plain);
	CHECK_INT(start(&plain, "/base/bin/python3.11"), 0);
	CHECK(!variable(&plain, "LD_PRELOAD") && !variable(&plain, "RETORT_STILL"));
	CHECK(!plain.start.is_fixed);

	host_open(&seeded);
	tree_put(&seeded.tree, "/drivers/still/still.so", "");
	seeded.req.env = mine;
	seeded.req.n_env = ARRAY_LEN(mine);
	seeded.req.has_seed = true;
	seeded.req.seed = 42;
	CHECK_INT(start(&seeded, "/base/bin/python3.11"), 0);
	CHECK_STR(variable(&seeded, "LD_PRELOAD"), "/retort/still/still.so:b.so");
	CHECK_STR(variable(&seeded, "RETORT_STILL"), "000000000000002a:946684800000000000:0");
	CHECK_STR(variable(&seeded, "RETORT_SESSION"), "s-aaaaaaaabk");
	CHECK(seeded.start.is_fixed);

	host_open(&timed);
	tree_put(&timed.tree, "/drivers/still/still.so", "");
	timed.req.has_time = true;
	timed.req.time_ns = 1500;
	CHECK_INT(start(&timed, "/base/bin/python3.11"), 0);
	CHECK_STR(variable(&timed, "RETORT_STILL"), "-:1500:0");
	CHECK(!timed.start.is_fixed);
}

TEST(python_environment_is_bounded)
{
	HOST h;
	static char texts[RUNTIME_ENV_MAX][16];
	static const char *list[RUNTIME_ENV_MAX];
	host_open(&h);
	for (int i = 0; i < RUNTIME_ENV_MAX; i++) {
		snprintf(texts[i], sizeof texts[i], "V%d=x", i);
		list[i] = texts[i];
	}
	h.req.env = list;
	h.req.n_env = RUNTIME_ENV_MAX;
	CHECK_INT(start(&h, "/base/bin/python3.11"), -E2BIG);
	CHECK_INT(h.err.code, ERR_LIMIT);
}

/* A version manager's: bound whole; its seed, memory and threads are arguments and variables. */
TEST(node_of_a_version_manager)
{
	HOST h;
	host_open(&h);
	tree_put(&h.tree, "/v20/bin/node", "");
	tree_put(&h.tree, "/v20/include/node/node.h", "");
	tree_put(&h.tree, "/drivers/node/driver.js", "");
	tree_put(&h.tree, "/drivers/still/still.so", "");
	CHECK_INT(chmod(tree_path(&h.tree, "/v20/bin/node"), 0755), 0);
	CHECK_INT(mkdir(tree_path(&h.tree, "/current"), 0755), 0);
	CHECK_INT(symlink("../v20/bin/node", tree_path(&h.tree, "/current/node")), 0);
	snprintf(h.interpreter, sizeof h.interpreter, "%s", tree_path(&h.tree, "/current/node"));
	h.req.interpreter = h.interpreter;
	h.req.memory_bytes = 512 << 20;
	h.req.cpu_milli = 4000;
	h.req.has_seed = true;
	h.req.seed = 0;
	CHECK_INT(runtime_node.start(&h.req, &h.start, &h.err), 0);
	CHECK_INT(h.start.n_binds, 3);
	CHECK_STR(h.start.binds[0].src, tree_path(&h.tree, "/v20"));
	CHECK_STR(h.start.binds[1].dst, "/retort/node");
	CHECK_STR(h.start.argv[0], tree_path(&h.tree, "/v20/bin/node"));
	CHECK_STR(h.start.argv[1], "--max-old-space-size=512");
	CHECK_STR(h.start.argv[2], "--random-seed=1");
	CHECK_STR(variable(&h, "UV_THREADPOOL_SIZE"), "4");
	CHECK_STR(variable(&h, "RETORT_SEED"), "0");
	CHECK(variable(&h, "MPLBACKEND") == NULL);
}

TEST(node_that_is_not_there)
{
	static const char *const rows[] = {"/nowhere", "/secrets", "/drivers/python/driver.py"};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		HOST h;
		host_open(&h);
		h.req.interpreter = tree_path(&h.tree, rows[i]);
		CHECK(runtime_node.start(&h.req, &h.start, &h.err) < 0);
		CHECK_INT(h.err.code, ERR_RUNTIME);
		CHECK_HAS(h.err.hint, "18");
	}
}
