/*
 * Languages of the front "piston" whose programs are scored: those of the packages "codeforces" and
 * "cms_ioi", which the graders of Open R1 ask for. A request is one program with one test case in
 * its files. The answer prints a score, and says why on stderr.
 *
 * The scripts of these packages run the program, the checker and the comparison in one place,
 * beside the expected output. Here it is program.judge: the program sees its input only.
 *
 * Source: github.com/guipenedo/piston, packages/codeforces and packages/cms_ioi, 1.0.0.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/front/piston.h"

#include "api/row/param.h"
#include "base/buf.h"
#include "serve/front/version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 256, MEMORY_MIN_MIB = 512, COMPILE_MS = 10000, RUN_MS = 3000, CODES = 128 };
#define VERSION "1.0.0"

static const struct grader {
	const char *name, *words; /* "c++17", "|cf_c++17|" */
	const char *language;	  /* of program.judge */
	const char *standard;	  /* argument of the compiler, or NULL */
	bool is_ioi;
} graders[] = {
	{"c++0x", "|GNU C++0x|cf_c++0x|", "cpp", "-std=c++0x", false},
	{"c++11", "|GNU C++11|cf_c++11|", "cpp", "-std=c++11", false},
	{"c++14", "|C++14 (GCC 6-32)|cf_c++14|", "cpp", "-std=c++14", false},
	{"c++17", "|C++17 (GCC 7-32)|C++17 (GCC 9-64)|cf_c++17|", "cpp", "-std=c++17", false},
	{"c++20", "|C++20 (GCC 11-64)|C++20 (GCC 13-64)|cf_c++20|", "cpp", "-std=c++20", false},
	{"cf_c++", "|GNU C++|", "cpp", NULL, false},
	{"cf_python3", "|Python 3|", "python", NULL, false},
	{"cf_java", "|Java 17|", "java", NULL, false},
	{"cf_kotlin", "|Kotlin 1.4|", "kotlin", NULL, false},
	{"cms", "|cms_ioi|", "cpp", NULL, true},
};

static const struct grader *find_grader(const char *name)
{
	char word[LINE_BYTES];
	snprintf(word, sizeof word, "|%.200s|", name);
	for (size_t i = 0; i < ARRAY_LEN(graders); i++)
		if (strcmp(graders[i].name, name) == 0 || strstr(graders[i].words, word))
			return &graders[i];
	return NULL;
}

bool piston_is_grader(const char *name, const char *version)
{
	return find_grader(name) && version_is_in(VERSION, version);
}

void piston_add_graders(json_t *list, const char *version)
{
	for (size_t i = 0; i < ARRAY_LEN(graders); i++) {
		json_t *row = json_need(json_object()), *aliases = json_need(json_array());
		json_put_text(row, "language", graders[i].name);
		json_put_text(row, version, VERSION);
		for (const char *at = graders[i].words; at[1]; at += strcspn(at + 1, "|") + 1)
			json_add_new(aliases, json_stringn(at + 1, strcspn(at + 1, "|")));
		if (strcmp(version, "version") == 0)
			json_put_shared(row, "aliases", aliases);
		else
			json_put_bool(row, "installed", true);
		json_decref(aliases);
		json_add_new(list, row);
	}
}

/* ---- the files of a request ---- */

static const json_t *find_file(const struct front_call *c, const char *name)
{
	const json_t *file;
	size_t i;
	json_array_foreach(json_object_get(c->body, "files"), i,
		file) if (strcmp(json_get_text(file, "name"), name) == 0) return file;
	return NULL;
}

static const json_t *content_of(const struct front_call *c, const char *name)
{
	return json_object_get(find_file(c, name), "content");
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Return whether all files are texts. */
static bool are_texts(const json_t *files)
{
	const json_t *file;
	size_t i;
	json_array_foreach(files, i, file)
	{
		const char *encoding = json_get_text(file, "encoding");
		if (encoding[0] && strncmp(encoding, "utf", 3) != 0)
			return false;
	}
	return true;
}

/* Return whether @file is in the directory of @name, which ends with "/". */
static bool is_below(const json_t *file, const char *directory)
{
	return strncmp(json_get_text(file, "name"), directory, strlen(directory)) == 0;
}

static void add_file(json_t *files, const char *path, const json_t *file)
{
	json_t *row = json_need(json_object());
	json_put_text(row, "path", path);
	json_put_shared(row, "content", json_object_get(file, "content"));
	json_add_new(files, row);
}

/* ---- what a request asks for ---- */

struct grading {
	double seconds, megabytes; /* 0: not given */
	bool is_file;		   /* the program reads input.txt and writes output.txt */
	const char *refused;	   /* why there is no judging, or NULL */
};

/* Read the value of @key in the lines KEY=VALUE of @text. Returns: whether it is there. */
static bool read_line(const char *text, const char *key, char value[LINE_BYTES])
{
	size_t n = strlen(key);
	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, key, n) != 0 || at[n] != '=')
			continue;
		snprintf(value, LINE_BYTES, "%.*s", (int)strcspn(at + n + 1, "\r\n"), at + n + 1);
		return true;
	}
	return false;
}

static struct grading read_codeforces(const struct front_call *c)
{
	const char *text = json_string_value(content_of(c, "grader_config"));
	char value[LINE_BYTES];
	struct grading g = {0};
	if (text && read_line(text, "TIME_LIMIT", value))
		g.seconds = strtod(value, NULL);
	if (text && read_line(text, "MEMORY_LIMIT", value))
		g.megabytes = strtod(value, NULL);
	g.is_file = text && read_line(text, "INPUT_MODE", value) && strcmp(value, "file") == 0;
	return g;
}

static struct grading read_ioi(struct front_call *c)
{
	const json_t *text = content_of(c, "graders/grader_config.json");
	json_t *config = text
		? json_loadb(json_string_value(text), json_string_length(text), 0, NULL)
		: NULL;
	struct grading g = {.seconds = json_number_value(json_object_get(config, "time_limit")),
		.megabytes =
			json_number_value(json_object_get(config, "memory_limit")) / (1 << 20)};
	if (!json_is_object(config))
		g.refused = "Error: graders/grader_config.json not found";
	else if (strcmp(json_get_text(config, "task_type"), "Batch") != 0)
		g.refused = "Unsupported task type: only Batch is there";
	json_decref(config);
	return g;
}

/* ---- the parameters of program.judge ---- */

static void put_limits(json_t *params, const struct front_call *c, const struct grading *g)
{
	int64_t run_ms = front_time(c->body, "run_timeout", 1000, RUN_MS);
	int64_t case_ms =
		g->seconds > 0 && g->seconds < 1e6 ? (int64_t)ceil(g->seconds * 1000) : run_ms;
	json_put_int(params, "timeout_ms", MIN(case_ms, run_ms));
	json_put_int(params, "compile_timeout_ms",
		front_time(c->body, "compile_timeout", 1000, COMPILE_MS));
	/* The compiler runs in the same box. */
	if (g->megabytes > 0)
		front_limit(params, "memory_bytes", fmax(g->megabytes, MEMORY_MIN_MIB) * (1 << 20));
}

static void put_case(json_t *params, const struct front_call *c, const struct grading *g)
{
	const json_t *input = find_file(c, "input.txt");
	json_t *row = json_need(json_object()), *files = json_need(json_array());
	json_put_shared(row, "expected", content_of(c, "correct_output.txt"));
	if (g->is_file && input)
		add_file(files, "input.txt", input);
	else
		json_put_shared(row, "stdin", json_object_get(input, "content"));
	json_put_new(row, "files", files);
	json_put_new(params, "cases", json_need(json_pack("[o]", row)));
	if (g->is_file)
		json_put_text(params, "output_file", "output.txt");
}

static void put_checker(json_t *params, const char *language, const json_t *code, json_t *files)
{
	json_put_new(params, "checker",
		json_need(json_pack("{s:s, s:O, s:o, s:[s, s, s], s:s, s:s}", "language", language,
			"code", code, "files", files, "args", "input.txt", "correct_output.txt",
			"output.txt", "expected", "correct_output.txt", "accepts", "print")));
}

static void put_codeforces(json_t *params, const struct front_call *c, const struct grader *grader)
{
	static const char *const own[] = {
		"input.txt", "correct_output.txt", "checker.py", "grader_config"};
	const json_t *files = json_object_get(c->body, "files"), *file, *code = NULL;
	const json_t *checker = content_of(c, "checker.py");
	json_t *others = json_need(json_array());
	size_t i;
	json_array_foreach(files, i, file)
	{
		const char *name = json_get_text(file, "name");
		bool is_own = false;
		for (size_t k = 0; k < ARRAY_LEN(own); k++)
			is_own = is_own || strcmp(own[k], name) == 0;
		if (!is_own && !code)
			code = json_object_get(file, "content");
		else if (!is_own && name[0])
			add_file(others, name, file);
	}
	json_put_shared(params, "code", code);
	json_put_new(params, "files", others);
	if (strcmp(grader->language, "cpp") == 0) {
		json_t *args = json_need(json_pack("[s, s]", "-DONLINE_JUDGE", "-s"));
		if (grader->standard)
			json_add_text(args, grader->standard);
		json_put_new(params, "compile_args", args);
	}
	if (checker && content_of(c, "correct_output.txt"))
		put_checker(params, "python", checker, json_need(json_array()));
	else
		json_put_text(params, "compare", "codeforces");
}

/* The program is the first file; its grader and headers are beside it, and compiled with it. */
static void put_ioi(json_t *params, const struct front_call *c)
{
	const json_t *files = json_object_get(c->body, "files"), *file;
	const json_t *checker = content_of(c, "checker/checker.cpp");
	json_t *others = json_need(json_array()), *beside = json_need(json_array());
	size_t i;
	json_array_foreach(files, i, file)
	{
		const char *name = json_get_text(file, "name");
		bool is_grader = strcmp(name, "graders/grader.cpp") == 0 ||
			strcmp(name, "graders/stub.cpp") == 0;
		if (i == 0)
			json_put_shared(params, "code", json_object_get(file, "content"));
		else if (is_below(file, "graders/") && (is_grader || ends_with(name, ".h")))
			add_file(others, name, file);
		else if (is_below(file, "checker/") && ends_with(name, ".h"))
			add_file(beside, name + strlen("checker/"), file);
	}
	json_put_text(params, "filename", json_get_text(json_array_get(files, 0), "name"));
	json_put_new(params, "files", others);
	json_put_new(params, "compile_args", json_need(json_pack("[s, s]", "-DEVAL", "-s")));
	if (checker && content_of(c, "correct_output.txt")) {
		put_checker(params, "cpp", checker, beside);
	} else {
		json_decref(beside);
		json_put_text(params, "compare", "words");
	}
}

/* ---- the answer ---- */

static json_t *empty_phase(void)
{
	return json_need(json_pack("{s:s, s:s, s:s, s:i, s:n, s:n, s:n, s:i, s:i, s:i}", "stdout",
		"", "stderr", "", "output", "", "code", 0, "signal", "message", "status", "memory",
		0, "cpu_time", 0, "wall_time", 0));
}

/* Make a `run` that prints a score. @record: what its time and memory are of, or NULL. */
static json_t *run_of(const json_t *record, const char *printed, const char *why, int code)
{
	json_t *run = record ? piston_phase(record) : empty_phase();
	json_put_text(run, "stdout", printed);
	json_put_text(run, "stderr", why);
	json_put_new(run, "output", front_joined(printed, NULL, json_object_get(run, "stderr")));
	json_put_int(run, "code", code);
	json_put_new(run, "signal", json_null());
	return run;
}

/* A program that has failed, in the words of the scripts. */
static json_t *failed_run(const json_t *judged, const struct grading *g)
{
	const json_t *record = json_object_get(judged, "run");
	const char *verdict = json_get_text(judged, "verdict");
	const struct front_end end = front_read_end(record);
	int code = end.how == FRONT_EXITED ? end.code : CODES + end.signal;
	char why[LINE_BYTES];
	if (strcmp(verdict, "late") == 0)
		snprintf(why, sizeof why, "Time limit exceeded (%gs)\n", g->seconds);
	else if (strcmp(verdict, "memory") == 0)
		snprintf(why, sizeof why, "Memory limit exceeded (%gMB)\n", g->megabytes);
	else
		snprintf(why, sizeof why, "Runtime error with exit code %d\n", code);
	code = strcmp(verdict, "late") == 0 ? 124 : strcmp(verdict, "memory") == 0 ? 134 : code;
	return run_of(record, "0\n", why, code > 0 ? code : 1);
}

static json_t *judged_run(const struct front_call *c, const struct grader *grader,
	const struct grading *g, const json_t *judged)
{
	const json_t *record = json_object_get(judged, "run");
	const json_t *check = json_object_get(judged, "check");
	const char *verdict = json_get_text(judged, "verdict");
	bool is_passed = strcmp(verdict, "passed") == 0;
	if (!is_passed && strcmp(verdict, "wrong") != 0)
		return failed_run(judged, g);
	if (!content_of(c, "correct_output.txt"))
		return piston_phase(record);
	if (check && grader->is_ioi)
		return piston_phase(check);
	char why[LINE_BYTES];
	snprintf(why, sizeof why, "Output is%s correct (%s)\n", is_passed ? "" : "n't",
		check ? "checker" : "diff");
	return run_of(
		record, is_passed ? "1\n" : "0\n", why, check ? front_read_end(check).code : 0);
}

static void give(struct front_call *c, const struct grader *grader, json_t *compile, json_t *run)
{
	front_answer(c, 200,
		json_pack("{s:s, s:s, s:o, s:o}", "language", grader->name, "version", VERSION,
			"run", run, "compile", compile));
}

static void on_judged(struct front_call *c, const json_t *result, const struct err *err)
{
	const struct grader *grader = find_grader(json_get_text(c->body, "language"));
	const json_t *compile = json_object_get(result, "compile");
	const json_t *judged = json_array_get(json_object_get(result, "cases"), 0);
	const struct grading g = grader->is_ioi ? read_ioi(c) : read_codeforces(c);
	struct err unjudged;
	if (result && strcmp(json_get_text(judged, "verdict"), "unjudged") == 0) {
		(void)err_set(&unjudged, ERR_BOX, "%.400s", json_get_text(judged, "message"));
		err = &unjudged;
		result = NULL;
	}
	if (!result)
		front_fail(c, err);
	else if (!judged) /* old clients look for the compiler's messages in `run` */
		give(c, grader, piston_phase(compile), piston_phase(compile));
	else
		give(c, grader, compile ? piston_phase(compile) : empty_phase(),
			judged_run(c, grader, &g, judged));
}

void piston_grade(struct front_call *c, const char *name)
{
	const struct grader *grader = find_grader(name);
	const struct grading g = grader->is_ioi ? read_ioi(c) : read_codeforces(c);
	json_t *params = json_need(json_object());
	if (!are_texts(json_object_get(c->body, "files"))) {
		json_decref(params);
		piston_refuse(c, 400, "files of programs that are scored must be utf8 encoded");
		return;
	}
	if (g.refused) {
		json_decref(params);
		give(c, grader, empty_phase(), run_of(NULL, "0\n", g.refused, 1));
		return;
	}
	json_put_text(params, "language", grader->language);
	json_put_bool(params, "large_stack", true);
	put_limits(params, c, &g);
	put_case(params, c, &g);
	if (grader->is_ioi)
		put_ioi(params, c);
	else
		put_codeforces(params, c, grader);
	if (!json_object_get(params, "code")) {
		json_decref(params);
		piston_refuse(c, 400, "files must include the program");
		return;
	}
	front_box(c, params, true);
	front_operate(c, "program.judge", params, on_judged);
}
