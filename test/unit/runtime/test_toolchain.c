/* The table of toolchains, and which programs of the host are found. SPDX-License-Identifier:
 * Apache-2.0 */
#include "runtime/toolchain.h"

#include "runtime/runtime.h"
#include "t.h"
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_called(const char *word, const char *language)
{
	const struct toolchain *t = toolchain_find(word);
	return t && strcmp(t->language, language) == 0;
}

TEST(toolchains_by_name)
{
	static const char *const rows[][2] = {{"python", "python"}, {"Python", "python"},
		{"PYTHON3", "python"}, {"py", "python"}, {"js", "javascript"},
		{"Node", "javascript"}, {"node-js", "javascript"}, {"bash", "shell"},
		{"sh", "shell"}, {"sqlite3", "sql"}, {"c", "c"}, {"C", "c"}, {"gcc", "c"},
		{"c++", "cpp"}, {"C++", "cpp"}, {"g++", "cpp"}, {"cpp", "cpp"}, {"rs", "rust"},
		{"golang", "go"}, {"Java", "java"}, {"ts", "typescript"}, {"R", "r"},
		{"rscript", "r"}, {"d_ut", "d"}, {"go_test", "go_test"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK(is_called(rows[i][0], rows[i][1])))
			printf("# %s\n", rows[i][0]);
	static const char *const unknown[] = {"", "|", "pytho", "py|py3", "|py|", "pythonx", "c+",
		" python", "python ", "brainfuck"};
	for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
		if (!CHECK(toolchain_find(unknown[i]) == NULL))
			printf("# %s\n", unknown[i]);
}

/* No word means two languages: which one is found would depend on what the host has. */
TEST(toolchains_share_no_word)
{
	char word[64];
	for (size_t i = 0; i < toolchain_count(); i++) {
		const struct toolchain *t = toolchain_at(i);
		CHECK(is_called(t->language, t->language));
		for (const char *at = t->words; at[0] && at[1]; at += strcspn(at + 1, "|") + 1) {
			snprintf(word, sizeof word, "%.*s", (int)strcspn(at + 1, "|"), at + 1);
			if (!CHECK(is_called(word, t->language)))
				printf("# %s of %s\n", word, t->language);
		}
	}
	CHECK(toolchain_at(toolchain_count()) == NULL);
}

/* What the code that uses the rows takes for granted. */
TEST(toolchains_are_complete)
{
	for (size_t i = 0; i < toolchain_count(); i++) {
		const struct toolchain *t = toolchain_at(i);
		size_t n = strlen(t->words);
		bool is_list = n == 0 || (n > 2 && t->words[0] == '|' && t->words[n - 1] == '|');
		bool is_well = is_list && !strstr(t->words, "||") && strrchr(t->source, '.') &&
			!strchr(t->source, '/') && t->source[0] != '.';
		is_well = is_well && (t->runtime != NULL) == (t->run == NULL);
		is_well = is_well && (!t->runtime || (!t->compile && runtime_by_name(t->runtime)));
		is_well = is_well && (t->programs || t->runtime);
		is_well = is_well && (!t->programs || (t->programs[0] && t->version));
		if (!CHECK(is_well))
			printf("# %s\n", t->language);
	}
}

static bool program_of(const char *programs, char path[PATH_MAX])
{
	const struct toolchain t = {.language = "l", .words = "", .programs = programs};
	memset(path, 'x', 8);
	path[8] = '\0';
	return toolchain_program(&t, path);
}

TEST(programs_that_a_host_has)
{
	char path[PATH_MAX], first[PATH_MAX], list[PATH_MAX + 64];
	CHECK(program_of(NULL, path) && !path[0]); /* needs none */
	CHECK(program_of("env", first));
	CHECK(strcmp(first, "/usr/bin/env") == 0 || strcmp(first, "/bin/env") == 0);
	CHECK(program_of("no-such-program|env", path));
	CHECK_STR(path, first);
	CHECK(program_of("env|sh", path));
	CHECK_STR(path, first);
	CHECK(program_of("/usr/no/such|/usr/bin/env", path));
	CHECK_STR(path, "/usr/bin/env");
	CHECK(program_of("no-such-program|/usr/bin/env|sh", path));
	CHECK_STR(path, "/usr/bin/env");
	CHECK(program_of("sh|/usr/bin/env", path));
	CHECK(strcmp(path, "/usr/bin/sh") == 0 || strcmp(path, "/bin/sh") == 0);
	snprintf(list, sizeof list, "/usr/bin/../bin/no-such|%s", first);
	CHECK(program_of(list, path));
	CHECK_STR(path, first);
}

TEST(programs_that_a_box_lacks)
{
	TREE tree = tree_new();
	char path[PATH_MAX], list[512];
	tree_put(&tree, "/program", "#!/bin/sh\n");
	CHECK_INT(chmod(tree_path(&tree, "/program"), 0755), 0);
	snprintf(list, sizeof list, "%s", tree_path(&tree, "/program"));
	const char *const rows[] = {
		list, /* a program, but no box has its directory */
		"no-such-program",
		"/usr/bin/no-such-program",
		"/usr", /* a directory */
		"..",	/* one that is found in the PATH */
		".",
		"/usr/share/../bin",
		"/etc/passwd", /* a file, not for running, and of no box */
		"/usr/../etc/passwd",
		"/dev/null",
		"/proc/self/exe",
		"",
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK(!program_of(rows[i], path) && !path[0]))
			printf("# \"%s\": %s\n", rows[i], path);
}

TEST(programs_that_nobody_can_run)
{
	char path[PATH_MAX];
	static const char *const files[] = {"/usr/lib/os-release", "/usr/share/dpkg/cputable",
		"/usr/share/perl5/Debconf/Log.pm"};
	struct stat st;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (stat(files[i], &st) == 0 && !(st.st_mode & S_IXOTH)) {
			CHECK(!program_of(files[i], path));
			CHECK(program_of("/usr/lib/os-release|env", path));
		}
}

TEST(programs_with_long_names)
{
	char path[PATH_MAX], name[3 * PATH_MAX];
	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	CHECK(!program_of(name, path) && !path[0]);
	name[0] = '/';
	CHECK(!program_of(name, path) && !path[0]);
	memcpy(name + PATH_MAX, "|env", 5);
	CHECK(program_of(name, path) && path[0]);
}

TEST(missing_programs)
{
	const struct toolchain t = {
		.language = "cobol", .programs = "cobc|/opt/cobc", .package = "gnucobol"};
	const struct toolchain other = {.language = "cobol", .programs = "cobc"};
	struct err err = {0};
	CHECK_INT(toolchain_missing(&t, "CoB", &err), -ENOEXEC);
	CHECK_INT(err.code, ERR_RUNTIME);
	CHECK_STR(err.msg, "this host cannot run cobol: it has no cobc");
	CHECK_HAS(err.hint, "apt install gnucobol");
	err = (struct err){0};
	CHECK_INT(toolchain_missing(&other, "CoB", &err), -ENOEXEC);
	CHECK_HAS(err.hint, "/usr");
	CHECK(!strstr(err.hint, "apt"));
}

TEST(missing_languages)
{
	static const char *const rows[][2] = {{"pythn", "did you mean python?"},
		{"jav", "did you mean java"}, {"javascrpit", "did you mean javascript?"},
		{"rubi", "did you mean ruby?"}, {"brainfuck", "`program.languages` lists them"},
		{"", "`program.languages` lists them"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		CHECK_INT(toolchain_missing(NULL, rows[i][0], &err), -ENOEXEC);
		CHECK_INT(err.code, ERR_RUNTIME);
		CHECK_HAS(err.msg, rows[i][0]);
		CHECK_HAS(err.hint, rows[i][1]);
	}
	char name[5000];
	struct err err = {0};
	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	CHECK_INT(toolchain_missing(NULL, name, &err), -ENOEXEC);
	CHECK(strlen(err.msg) < 200);
}
