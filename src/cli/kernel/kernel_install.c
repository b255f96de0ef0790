/* The command `retort kernel install`. SPDX-License-Identifier: Apache-2.0 */
#include "base/ascii.h"
#include "base/attr.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/box.h"
#include "cli/cmd.h"
#include "cli/kernel/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 64 };
#define CELL_TIMEOUT "1h"

struct install_args {
	struct box_args box;
	const char *prefix, *name, *display_name, *tools;
	bool user, help;
	int color;
};

/* clang-format off */
static const struct opt install_opts[] = {
	{.name = "user", OPT_INTO_FLAG(struct install_args, user), .flags = OPT_NO_ENV, .group = "Kernel",
		.help = "install for this user (default)"},
	{.name = "prefix", OPT_INTO_TEXT(struct install_args, prefix), .arg = "DIR", .flags = OPT_NO_ENV,
		.group = "Kernel", .complete = OPT_COMPLETE_DIR,
		.help = "install below DIR, such as /usr/local or a virtual environment"},
	{.name = "name", OPT_INTO_TEXT(struct install_args, name), .arg = "NAME", .flags = OPT_NO_ENV,
		.group = "Kernel", .help = "name of the kernel (default: retort, or retort-RUNTIME)"},
	{.name = "display-name", OPT_INTO_TEXT(struct install_args, display_name), .arg = "TEXT",
		.flags = OPT_NO_ENV, .group = "Kernel", .help = "name that people see"},
	TOOLS_OPT(struct install_args, "Tools"),
#define BOX_ARGS struct install_args
#include "cli/box.def"
#undef BOX_ARGS
	BOX_PROFILE_OPT(struct install_args),
	CMD_COMMON_OPTS(struct install_args),
};
/* clang-format on */

/* What a language is called in a kernelspec. */
static const struct {
	const char *runtime, *language, *shown;
} rows[] = {{"python", "python", "Python"}, {"javascript", "javascript", "JavaScript"},
	{"sql", "sql", "SQL"}, {"shell", "bash", "shell"}};

static size_t row_of(const char *runtime)
{
	size_t i = 0;
	while (i + 1 < ARRAY_LEN(rows) && strcmp(rows[i].runtime, runtime) != 0)
		i++;
	return i;
}

/* ---- the options that the kernel gets ---- */

static bool is_own(const char *name)
{
	static const char *const names[] = {
		"user", "prefix", "name", "display-name", "color", "help"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Find the option that @arg is, the last one of -qm. *@has_value: its value is in @arg, too. */
static const struct opt *option_of(const char *arg, bool *has_value)
{
	const struct opt *found = NULL;
	bool is_long = arg[1] == '-';
	size_t bytes = strcspn(arg + 2, "=");
	*has_value = is_long && arg[2 + bytes] == '=';
	for (size_t i = 0; is_long && i < ARRAY_LEN(install_opts); i++)
		if (strlen(install_opts[i].name) == bytes &&
			strncmp(install_opts[i].name, arg + 2, bytes) == 0)
			return &install_opts[i];
	for (const char *at = arg + 1; !is_long && *at; at++)
		for (size_t i = 0; i < ARRAY_LEN(install_opts); i++)
			if (install_opts[i].letter == *at) {
				found = &install_opts[i];
				*has_value = at[1] != '\0';
				if (found->type != OPT_FLAG)
					return found;
			}
	return found;
}

/* Append the options of the box to @out, as they were written. */
static void add_options(json_t *out, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		bool has_value = false;
		const struct opt *opt = option_of(argv[i], &has_value);
		bool is_pair = opt && opt->type != OPT_FLAG && !has_value && i + 1 < argc;
		for (int k = 0; opt && !is_own(opt->name) && k <= is_pair; k++)
			json_add_text(out, argv[i + k]);
		i += is_pair;
	}
}

static json_t *spec_json(const struct install_args *args, const struct opt_set *set, size_t row,
	json_t *options, struct err *err)
{
	char program[PATH_MAX], shown[NAME_BYTES];
	ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
	if (n < 0) {
		(void)err_sys(err, ERR_IO, errno, "/proc/self/exe");
		json_decref(options);
		return NULL;
	}
	program[n] = '\0';
	snprintf(shown, sizeof shown, "%s in a box (retort)", rows[row].shown);
	json_t *argv = json_need(json_array());
	json_add_text(argv, program);
	json_add_text(argv, "kernel");
	json_add_text(argv, "-f");
	json_add_text(argv, "{connection_file}");
	/* A cell may take longer than a step of an agent. */
	if (opt_source(set, "timeout") == OPT_UNSET) {
		json_add_text(argv, "--timeout");
		json_add_text(argv, CELL_TIMEOUT);
	}
	(void)json_array_extend(argv, options);
	json_decref(options);
	json_t *spec = json_need(json_pack("{s:o, s:s, s:s, s:{s:b}}", "argv", argv, "language",
		rows[row].language, "interrupt_mode", "message", "metadata", "debugger", 0));
	json_put_text(spec, "display_name", args->display_name ? args->display_name : shown);
	return spec;
}

/* ---- where the kernelspec is ---- */

static int check_name(const char *name, struct err *err)
{
	size_t n = 0;
	while (ascii_is_name(name[n]) || (name[n] && strchr(".-", name[n])))
		n++;
	if (n > 0 && n < NAME_BYTES && !name[n])
		return 0;
	return err_fail(err, ERR_USAGE, "letters, digits, and . _ -", "--name: \"%.60s\"", name);
}

/* Write the directory of Jupyter's data. Source: jupyter_core, "Common directories". */
static int find_data_dir(const struct install_args *args, char out[PATH_MAX], struct err *err)
{
	const char *data = getenv("JUPYTER_DATA_DIR"), *xdg = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");
	int n = -1;
	if (args->prefix)
		n = snprintf(out, PATH_MAX, "%s/share/jupyter", args->prefix);
	else if (data && data[0])
		n = snprintf(out, PATH_MAX, "%s", data);
	else if (xdg && xdg[0] == '/')
		n = snprintf(out, PATH_MAX, "%s/jupyter", xdg);
	else if (home && home[0])
		n = snprintf(out, PATH_MAX, "%s/.local/share/jupyter", home);
	if (n < 0)
		return err_fail(
			err, ERR_NOT_FOUND, "name a place: --prefix DIR", "HOME is not set");
	return n < PATH_MAX ? 0 : err_set(err, ERR_USAGE, "the path is too long");
}

static int put_spec(const char *dir, const json_t *spec, struct err *err)
{
	char *text = json_dumps(spec, JSON_INDENT(1));
	int r = text ? file_make_dirs(dir, 0755, 0755) : -ENOMEM;
	cleanup_fd int fd = r < 0 ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r == 0)
		r = fd < 0 ? -errno : file_put(fd, "kernel.json", text, strlen(text), 0644, 0);
	free(text);
	return r < 0 ? err_sys(err, file_code(-r), -r, "%s", dir) : 0;
}

static int install(struct install_args *args, struct opt_set *set, json_t *options, struct err *err)
{
	char data[PATH_MAX], dir[PATH_MAX + NAME_BYTES + 16], name[NAME_BYTES];
	const char *runtime = NULL;
	int r = kernel_language(args->box.runtime, &runtime, err);
	size_t row = r == 0 ? row_of(runtime) : 0;
	snprintf(name, sizeof name, row == 0 ? "retort" : "retort-%s", rows[row].runtime);
	if (r == 0 && args->name)
		r = check_name(args->name, err);
	if (r < 0) {
		json_decref(options);
		return r;
	}
	cleanup_json json_t *spec = spec_json(args, set, row, options, err);
	r = spec ? find_data_dir(args, data, err) : -err_errno(err->code);
	snprintf(dir, sizeof dir, "%s/kernels/%s", data, args->name ? args->name : name);
	if (r == 0)
		r = put_spec(dir, spec, err);
	if (r == 0)
		printf("%s/kernel.json\n", dir);
	return r;
}

static int install_main(int argc, char **argv)
{
	struct install_args args = {.box = BOX_ARGS_INIT};
	struct opt_set set;
	struct err err = {0};
	json_t *options = json_need(json_array());
	add_options(options, argc, argv); /* before they are rearranged */
	int r = cmd_parse(&cmd_kernel_install, &set, &args, argc, argv, &err);
	if (r <= 0) {
		json_decref(options);
		return r < 0 ? cli_fail(&err, false) : 0;
	}
	r = cmd_config(&set, args.box.profile, &err);
	if (r == 0)
		r = box_check(&args.box, &err);
	if (r == 0 && args.user && args.prefix)
		r = err_fail(&err, ERR_USAGE, "give one of them", "--user and --prefix");
	if (r == 0)
		r = install(&args, &set, take_ptr(options), &err);
	json_decref(options);
	return r < 0 ? cli_fail(&err, false) : 0;
}

static const char *const usage[] = {"kernel install [options]", NULL};

static const struct cmd_example examples[] = {
	{"offer cells in Python to Jupyter", "retort kernel install"},
	{"cells in JavaScript, for all users",
		"retort kernel install --prefix /usr/local -r javascript"},
	{"the notebook's directory as the workspace", "retort kernel install --name here -w ."},
};

const struct cmd cmd_kernel_install = {
	.name = "kernel install",
	.alike = "add register",
	.summary = "Offer a kernel to Jupyter",
	.usage = usage,
	.text = "Writes a kernelspec, the file by which Jupyter starts kernels. Options of the box "
		"are written into it; paths that are not absolute are those of the directory of "
		"each notebook. A cell may take an hour, unless --timeout says something else. "
		"`jupyter kernelspec remove NAME` removes the kernel.",
	.opts = install_opts,
	.n_opts = ARRAY_LEN(install_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.run = install_main,
};
