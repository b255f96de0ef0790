/* `retort run`. SPDX-License-Identifier: Apache-2.0 */
#include "api/run.h"
#include "base/fd.h"
#include "cli/cmd.h"
#include "cli/config.h"
#include "cli/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CODE_MAX_BYTES = 16 << 20, ENV_MAX = OPT_LIST_MAX + 1 };

struct run_args {
	const char *runtime;
	const char *code;
	struct opt_list volumes, env;
	const char *preload;
	const char *workspace, *python, *rootfs, *out_dir, *stdin_file, *net, *profile;
	struct limits limits;
	uint64_t seed;
	bool fresh, json, jsonl, quiet, help;
	int images, color;
};

#define LIMIT(field) limits.value[LIMIT_##field]

static const struct opt run_opts[] = {
	{.name = "code",
		.letter = 'c',
		OPT_INTO_TEXT(struct run_args, code),
		.arg = "CODE",
		.flags = OPT_ENDS | OPT_NO_ENV,
		.group = "Program",
		.help = "run CODE; what follows is its arguments"},
	{.name = "runtime",
		.letter = 'r',
		OPT_INTO_TEXT(struct run_args, runtime),
		.arg = "RUNTIME",
		.group = "Program",
		.choices = "python",
		.help = "language; else by file ending, #! line, or python"},
	{.name = "python",
		OPT_INTO_TEXT(struct run_args, python),
		.arg = "PATH",
		.group = "Program",
		.complete = OPT_COMPLETE_FILE,
		.help = "interpreter, or the directory of a virtual environment"},
	{.name = "stdin",
		OPT_INTO_TEXT(struct run_args, stdin_file),
		.arg = "FILE",
		.flags = OPT_NO_ENV,
		.group = "Program",
		.complete = OPT_COMPLETE_FILE,
		.help = "standard input of the program, - for retort's own; else it is empty"},
	{.name = "env",
		.letter = 'e',
		OPT_INTO_LIST(struct run_args, env),
		.arg = "K[=V]",
		.flags = OPT_NO_ENV,
		.group = "Program",
		.help = "set a variable, or pass on the one of the host"},
	{.name = "preload",
		OPT_INTO_TEXT(struct run_args, preload),
		.arg = "A,B",
		.group = "Program",
		.help = "import these modules first"},
	{.name = "seed",
		OPT_INTO_COUNT(struct run_args, seed),
		.arg = "N",
		.group = "Program",
		.max = UINT32_MAX - 1,
		.help = "fix the hash seed, random and numpy's generator"},

	{.name = "volume",
		.letter = 'v',
		OPT_INTO_LIST(struct run_args, volumes),
		.arg = "SRC:DST[:ro|rw]",
		.flags = OPT_NO_ENV,
		.group = "Files",
		.complete = OPT_COMPLETE_FILE,
		.help = "show a file or directory of the host, read-only unless :rw"},
	{.name = "workspace",
		.letter = 'w',
		OPT_INTO_TEXT(struct run_args, workspace),
		.arg = "DIR",
		.group = "Files",
		.complete = OPT_COMPLETE_DIR,
		.help = "use DIR of the host as the workspace, read-write"},
	{.name = "out",
		.letter = 'o',
		OPT_INTO_TEXT(struct run_args, out_dir),
		.arg = "DIR",
		.group = "Files",
		.complete = OPT_COMPLETE_DIR,
		.help = "copy new and changed files of the workspace to DIR"},
	{.name = "rootfs",
		OPT_INTO_TEXT(struct run_args, rootfs),
		.arg = "DIR",
		.group = "Files",
		.complete = OPT_COMPLETE_DIR,
		.help = "take /usr and /etc from DIR, not from the host"},

	{.name = "memory",
		.letter = 'm',
		OPT_INTO_BYTES(struct run_args, LIMIT(memory_bytes)),
		.arg = "SIZE",
		.group = "Limits",
		.fallback = "1g",
		.min = 16 << 20,
		.max = UINT64_C(1) << 50,
		.help = "memory of all processes and in-memory files"},
	{.name = "cpus",
		OPT_INTO_CPU_MILLI(struct run_args, LIMIT(cpu_milli)),
		.arg = "N",
		.group = "Limits",
		.fallback = "1",
		.min = 10,
		.max = 4096000,
		.help = "CPUs, 0.5 is half of one"},
	{.name = "cpu-time",
		OPT_INTO_MS(struct run_args, LIMIT(cpu_ms)),
		.arg = "TIME",
		.group = "Limits",
		.fallback = "30s",
		.min = 1,
		.max = UINT64_C(1) << 40,
		.help = "CPU time of all processes"},
	{.name = "timeout",
		OPT_INTO_MS(struct run_args, LIMIT(timeout_ms)),
		.arg = "TIME",
		.group = "Limits",
		.fallback = "30s",
		.min = 1,
		.max = UINT64_C(1) << 40,
		.help = "wall time"},
	{.name = "pids",
		OPT_INTO_COUNT(struct run_args, LIMIT(pids)),
		.arg = "N",
		.group = "Limits",
		.fallback = "128",
		.min = 1,
		.max = 1 << 22,
		.help = "processes and threads"},
	{.name = "disk",
		OPT_INTO_BYTES(struct run_args, LIMIT(disk_bytes)),
		.arg = "SIZE",
		.group = "Limits",
		.fallback = "256m",
		.min = 4096,
		.max = UINT64_C(1) << 50,
		.help = "files in the workspace, /tmp and /dev/shm"},
	{.name = "inodes",
		OPT_INTO_COUNT(struct run_args, LIMIT(disk_inodes)),
		.arg = "N",
		.group = "Limits",
		.fallback = "65536",
		.min = 1,
		.max = UINT64_C(1) << 31,
		.help = "number of those files"},
	{.name = "file-size",
		OPT_INTO_BYTES(struct run_args, LIMIT(file_bytes)),
		.arg = "SIZE",
		.group = "Limits",
		.fallback = "256m",
		.max = UINT64_C(1) << 60,
		.help = "one file"},
	{.name = "open-files",
		OPT_INTO_COUNT(struct run_args, LIMIT(open_files)),
		.arg = "N",
		.group = "Limits",
		.fallback = "1024",
		.min = 16,
		.max = 1 << 20,
		.help = "open files of one process"},
	{.name = "output-limit",
		OPT_INTO_BYTES(struct run_args, LIMIT(output_bytes)),
		.arg = "SIZE",
		.group = "Limits",
		.fallback = "10m",
		.max = 1 << 30,
		.help = "captured output of each stream; head and tail are kept"},
	{.name = "net",
		OPT_INTO_TEXT(struct run_args, net),
		.arg = "NET",
		.group = "Limits",
		.choices = "none",
		.fallback = "none",
		.help = "network: loopback only"},

	{.name = "json",
		OPT_INTO_FLAG(struct run_args, json),
		.flags = OPT_NO_ENV,
		.group = "Output",
		.help = "print one result object"},
	{.name = "jsonl",
		OPT_INTO_FLAG(struct run_args, jsonl),
		.flags = OPT_NO_ENV,
		.group = "Output",
		.help = "print one event per line while it runs"},
	{.name = "images",
		OPT_INTO_CHOICE(struct run_args, images),
		.arg = "MODE",
		.group = "Output",
		.choices = PICTURE_CHOICES,
		.fallback = "auto",
		.help = "how plots are shown"},
	{.name = "quiet",
		.letter = 'q',
		OPT_INTO_FLAG(struct run_args, quiet),
		.group = "Output",
		.help = "say nothing about the run on stderr"},
	{.name = "profile",
		OPT_INTO_TEXT(struct run_args, profile),
		.arg = "NAME",
		.group = "General options",
		.help = "apply the options that the configuration has under NAME"},
	{.name = "fresh",
		OPT_INTO_FLAG(struct run_args, fresh),
		.group = "General options",
		.help = "start without a template (a single run always does)"},
	CMD_COMMON_OPTS(struct run_args),
};

/* What is printed as it happens, and how. */
/* ---- reading what to run ---- */

static int read_file(int fd, const char *name, struct buf *out, struct err *err)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		err_set(err, ERR_USAGE, "%s is a directory", name);
		return err_hint(err, "name a program file, e.g. %.100s/main.py", name);
	}
	for (;;) {
		char *at = buf_reserve(out, 1 << 16);
		ssize_t n = at ? read(fd, at, 1 << 16) : 0;
		if (!at) {
			err_set(err, ERR_LIMIT, "%s is over %d MiB of code", name,
				CODE_MAX_BYTES >> 20);
			return err_hint(err, "put data into a file of its own: -v data:data");
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, ERR_IO, errno, "read %s", name);
		if (n == 0)
			return 0;
		buf_grown(out, (size_t)n);
	}
}

static int read_program(const char *path, struct buf *out, struct err *err)
{
	if (strcmp(path, "-") == 0)
		return read_file(STDIN_FILENO, "standard input", out, err);
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0)
		return read_file(fd, path, out, err);
	bool is_missing = errno == ENOENT;
	int r = err_sys(err, is_missing ? ERR_NOT_FOUND : ERR_ACCESS, errno, "%s", path);
	err_hint(err, "%s",
		is_missing ? "name a program file, or use -c CODE or - for standard input"
			   : "check the file's permissions: ls -l");
	return r;
}

/* SRC:DST[:ro|rw]; a colon inside SRC or DST cannot be written, as with docker. */
static int parse_volume(char *text, struct volume *out, struct err *err)
{
	char *dst = strchr(text, ':');
	char *mode = dst ? strchr(dst + 1, ':') : NULL;
	bool is_good = dst && dst != text && dst[1] && dst + 1 != mode &&
		(!mode || strcmp(mode, ":ro") == 0 || strcmp(mode, ":rw") == 0);
	if (!is_good) {
		err_set(err, ERR_USAGE, "--volume \"%.150s\" is not SRC:DST or SRC:DST:rw", text);
		return err_hint(err, "for example -v ./orders.csv:orders.csv");
	}
	*dst = '\0';
	if (mode)
		*mode = '\0';
	*out = (struct volume){
		.src = text, .dst = dst + 1, .is_writable = mode && strcmp(mode + 1, "rw") == 0};
	return 0;
}

static int take_volumes(
	const struct run_args *args, struct volume *out, char **copies, struct err *err)
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

/* The driver draws sixels itself; the variable tells it to. */
static int take_images(const struct run_args *args, char **out, size_t *n_out, struct err *err)
{
	if (args->images != PICTURE_SIXEL)
		return 0;
	out[*n_out] = strdup("RETORT_IMAGES=sixel");
	if (!out[*n_out])
		return err_set(err, ERR_NO_MEMORY, "no memory for variables");
	(*n_out)++;
	return 0;
}

/* K=V as it is; K alone passes on the host's value, and nothing when there is none. */
static int take_env(const struct run_args *args, char **out, size_t *n_out, struct err *err)
{
	for (size_t i = 0; i < args->env.n; i++) {
		const char *item = args->env.item[i];
		const char *equals = strchr(item, '=');
		const char *value = equals ? equals + 1 : getenv(item);
		int n_name = (int)(equals ? equals - item : (ptrdiff_t)strlen(item));
		if (n_name == 0) {
			err_set(err, ERR_USAGE, "--env \"%.100s\" has no name", item);
			return err_hint(err, "write -e NAME=VALUE");
		}
		if (!value)
			continue;
		if (asprintf(&out[*n_out], "%.*s=%s", n_name, item, value) < 0)
			return err_set(err, ERR_NO_MEMORY, "no memory for variables");
		(*n_out)++;
	}
	return 0;
}

/* ---- putting it together ---- */

static int check_args(const struct run_args *args, struct err *err)
{
	if (args->json && args->jsonl)
		return err_set(err, ERR_USAGE, "--json and --jsonl exclude each other");
	if (args->net && strcmp(args->net, "none") != 0) {
		err_set(err, ERR_USAGE, "--net %s is not known", args->net);
		return err_hint(err, "a box has its own loopback and nothing else: --net none");
	}
	return 0;
}

static int open_stdin(const struct run_args *args, const char *program, struct err *err)
{
	const char *file = args->stdin_file;
	if (!file)
		return -1;
	if (strcmp(file, "-") == 0 && program && strcmp(program, "-") == 0) {
		err_set(err, ERR_USAGE, "standard input cannot be both program and input");
		return err_hint(err, "name the program's file");
	}
	if (strcmp(file, "-") == 0)
		return STDIN_FILENO;
	struct stat st;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode)))
		return fd;
	int sys = fd >= 0 ? EISDIR : errno;
	fd_close(&fd);
	err_sys(err, sys == ENOENT ? ERR_NOT_FOUND : ERR_ACCESS, sys, "--stdin %s", file);
	err_hint(err, "name a file that you may read, or - for retort's own standard input");
	return -EINVAL;
}

static int run_request(
	const struct run_args *args, const struct opt_set *set, const struct run_request *req)
{
	const struct view_options options = {.json = args->json,
		.jsonl = args->jsonl,
		.quiet = args->quiet,
		.images = args->images,
		.out_dir = args->out_dir,
		.limits = &args->limits,
		.set = set};
	struct view view;
	view_init(&view, &options);
	int status = view_run(&view, req);
	view_done(&view);
	return status;
}

struct pieces {
	struct volume volumes[OPT_LIST_MAX];
	char *copies[OPT_LIST_MAX], *env[ENV_MAX];
	size_t n_env;
	struct buf code;
};

static int gather(const struct run_args *args, const struct opt_set *set, char **operands,
	struct pieces *p, struct run_request *req, struct err *err)
{
	const char *program = args->code ? NULL : operands[0];
	int r = check_args(args, err);
	if (r == 0 && !args->code && !program) {
		err_set(err, ERR_USAGE, "nothing to run");
		r = err_hint(err,
			"name a FILE, or use -c CODE, or - to read the program from standard "
			"input");
	}
	if (r == 0 && program)
		r = read_program(program, &p->code, err);
	if (r == 0)
		r = take_volumes(args, p->volumes, p->copies, err);
	if (r == 0)
		r = take_env(args, p->env, &p->n_env, err);
	if (r == 0)
		r = take_images(args, p->env, &p->n_env, err);
	if (r < 0)
		return r;
	const char *name = !program ? "<string>" : strcmp(program, "-") == 0 ? "<stdin>" : program;
	*req = (struct run_request){
		.order = {.runtime = args->runtime,
			.filename = name,
			.code = program ? buf_str(&p->code) : args->code,
			.code_bytes = program ? p->code.bytes : strlen(args->code),
			.volumes = p->volumes,
			.n_volumes = args->volumes.n,
			.workspace = args->workspace,
			.rootfs = args->rootfs,
			.interpreter = args->python,
			.env = (const char *const *)p->env,
			.n_env = p->n_env,
			.limits = args->limits,
			.has_seed = opt_source(set, "seed") != OPT_UNSET,
			.seed = args->seed},
		.argv = (const char *const *)operands,
		.preload = args->preload,
		.out_dir = args->out_dir};
	req->stdin_fd = open_stdin(args, program, err);
	return req->stdin_fd < -1 ? req->stdin_fd : 0;
}

static void pieces_free(struct pieces *p)
{
	for (size_t i = 0; i < ARRAY_LEN(p->copies); i++)
		free(p->copies[i]);
	for (size_t i = 0; i < ARRAY_LEN(p->env); i++)
		free(p->env[i]);
	buf_done(&p->code);
	free(p);
}

/* sys.argv as python has it: the program's name, or "-c", then the arguments. */
static char **program_argv(const struct run_args *args, int argc, char **argv, int at)
{
	static char dash_c[] = "-c";
	if (!args->code)
		return argv + at;
	argv[at - 1] = dash_c;
	(void)argc;
	return argv + at - 1;
}

static int run_main(int argc, char **argv)
{
	struct run_args args = {.limits = order_default_limits()};
	struct opt_set set;
	struct run_request req;
	struct err err = {0};
	int at = cmd_parse(&cmd_run, &set, &args, argc, argv, &err);
	if (at == 0)
		return 0;
	if (at > 0) {
		int r = config_apply(&set, args.profile, &err);
		at = r < 0 ? r : at;
	}
	struct pieces *p = calloc(1, sizeof *p);
	if (at < 0 || !p) {
		free(p);
		return cli_fail(&err, args.json);
	}
	p->code = BUF_INIT(CODE_MAX_BYTES);
	int r = gather(&args, &set, program_argv(&args, argc, argv, at), p, &req, &err);
	int status = r < 0 ? cli_fail(&err, args.json) : run_request(&args, &set, &req);
	pieces_free(p);
	return status;
}

static const struct cmd_example examples[] = {
	{"a one-liner", "retort run -c 'print(6 * 7)'"},
	{"a script over a file of the host", "retort run -v ./orders.csv:orders.csv margin.py"},
	{"keep the plots and files it makes", "retort run -o results analysis.py"},
	{"the whole record, for a program", "retort run --json -c '[1, 2, 3]'"},
	{"the packages of a virtual environment", "retort run --python ./venv job.py"},
	{"less of everything", "retort run -m 256m --cpus 0.5 --timeout 5s job.py"},
};

static const struct cmd_exit exits[] = {
	{"0-255", "the program's own"},
	{"2", "wrong use: an option, a value or a file"},
	{"124", "the time limit"},
	{"125", "retort could not start the box"},
	{"126", "denied by policy"},
	{"127", "no such runtime on this host"},
	{"128+n", "signal n; 137 also for the memory limit, --json says which"},
	{"130", "interrupted"},
};

static const char *const usage[] = {"run [options] FILE [ARGS...]",
	"run [options] -c CODE [ARGS...]", "run [options] - [ARGS...]", NULL};

const struct cmd cmd_run = {
	.name = "run",
	.summary = "Run code once in a fresh box",
	.usage = usage,
	.text = "The program sees the host's /usr read-only, its workspace /home/user, and nothing else of "
		"the host. Its stdout and stderr are retort's; the value of its last expression is printed "
		"as Jupyter does.",
	.opts = run_opts,
	.n_opts = ARRAY_LEN(run_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.operand = CMD_OPERAND_FILE,
	.stop_at_operand = true,
	.run = run_main,
};
