/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/package.h"

#include "base/alloc.h"
#include "base/word.h"
#include "runtime/installation.h"

#include <ctype.h>
#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERSION_BYTES = 24, NAME_BYTES = 64 };

/* Distributions that matter for work with data. `name` is the name to import; NULL: the
 * distribution has the same name. */
static const struct {
	const char *distribution, *name;
} known[] = {{"numpy", NULL}, {"pandas", NULL}, {"matplotlib", NULL}, {"scipy", NULL},
	{"scikit_learn", "sklearn"}, {"sympy", NULL}, {"statsmodels", NULL}, {"seaborn", NULL},
	{"plotly", NULL}, {"polars", NULL}, {"pyarrow", NULL}, {"duckdb", NULL}, {"torch", NULL},
	{"tensorflow", NULL}, {"transformers", NULL}, {"xgboost", NULL}, {"pillow", "PIL"},
	{"opencv_python", "cv2"}, {"networkx", NULL}, {"openpyxl", NULL}, {"jinja2", NULL},
	{"lxml", NULL}, {"beautifulsoup4", "bs4"}, {"requests", NULL}, {"pyyaml", "yaml"},
	{"tabulate", NULL}};

struct found {
	char version[ARRAY_LEN(known)][VERSION_BYTES];
};

/* Return whether two names of distributions are equal, as for pip: "scikit-learn" equals
 * "Scikit_Learn". @ours is in lower case and has underscores. */
static bool is_same(const char *ours, const char *theirs, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		char c = theirs[i];
		bool is_capital = c >= 'A' && c <= 'Z';
		c = c == '-' || c == '.' ? '_' : (char)(is_capital ? c - 'A' + 'a' : c);
		if (ours[i] != c)
			return false;
	}
	return ours[bytes] == '\0';
}

/* Note the version of a known distribution. @name is the name of a directory in site-packages:
 * "numpy-1.24.2.dist-info", "lz4-4.0.2-py3.11.egg-info". */
static void take_name(struct found *found, const char *name)
{
	const char *end = strstr(name, ".dist-info"), *dash = name;
	end = end ? end : strstr(name, ".egg-info");
	while (end && (dash = strchr(dash, '-')) && dash < end && !isdigit((unsigned char)dash[1]))
		dash++;
	if (!end || !dash || dash >= end)
		return;
	size_t bytes = strcspn(dash + 1, "-+");
	bytes = MIN(bytes, (size_t)(end - dash - 1));
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (is_same(known[i].distribution, name, (size_t)(dash - name)) &&
			!found->version[i][0])
			snprintf(found->version[i], VERSION_BYTES, "%.*s", (int)bytes, dash + 1);
}

static void take_directory(struct found *found, const char *path)
{
	const struct dirent *entry;
	DIR *dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		take_name(found, entry->d_name);
	if (dir)
		(void)closedir(dir);
}

enum { PLACES = 7, PLACES_OF_PACKAGES = 4, PLACE_BYTES = PATH_MAX + 2 * NAME_BYTES };

/* List the directories in which the driver looks for modules, in the order of the search. The
 * first PLACES_OF_PACKAGES contain packages. Returns: their number; 0 if the interpreter is not
 * found. */
static size_t find_places(const char *interpreter, char (*out)[PLACE_BYTES])
{
	char python[PATH_MAX], real[PATH_MAX], version[NAME_BYTES];
	struct err err;
	if (python_find(interpreter, python, &err) < 0 || !realpath(python, real))
		return 0;
	const char *name = strrchr(real, '/') + 1;
	snprintf(version, sizeof version, "%s", name); /* "python3.11" */
	for (int i = 0; i < 2; i++) {
		runtime_cut_last_part(python);
		runtime_cut_last_part(real);
	}
	const struct {
		const char *prefix, *above, *version, *below;
	} places[PLACES] = {{python, "/local/lib/", version, "/dist-packages"},
		{python, "/lib/", "python3", "/dist-packages"},
		{python, "/lib/", version, "/dist-packages"},
		{python, "/lib/", version, "/site-packages"}, {real, "/lib/", version, ""},
		{real, "/lib/", version, "/lib-dynload"},
		{real, "/lib/", version, "/site-packages"}};
	for (size_t i = 0; i < PLACES; i++)
		snprintf(out[i], PLACE_BYTES, "%s%s%s%s", places[i].prefix, places[i].above,
			places[i].version, places[i].below);
	return PLACES;
}

static bool is_in(const char *place, const char *module, size_t bytes)
{
	static const char *const endings[] = {"", ".py", ".so", ".*.so"};
	char pattern[PLACE_BYTES + NAME_BYTES + 8];
	bool is_found = false;
	for (size_t i = 0; i < ARRAY_LEN(endings) && !is_found; i++) {
		glob_t matches = {0};
		snprintf(pattern, sizeof pattern, "%s/%.*s%s", place, (int)bytes, module,
			endings[i]);
		is_found = glob(pattern, GLOB_NOSORT, NULL, &matches) == 0;
		globfree(&matches);
	}
	return is_found;
}

bool package_has(const char *interpreter, const char *module)
{
	char(*places)[PLACE_BYTES] = xcalloc(PLACES, PLACE_BYTES);
	size_t bytes = strcspn(module, ".");
	bool is_found = false;
	if (bytes == 0 || bytes > NAME_BYTES || strpbrk(module, "*?[\\/")) {
		free(places);
		return false;
	}
	size_t n = find_places(interpreter, places);
	for (size_t i = 0; i < n && !is_found; i++)
		is_found = is_in(places[i], module, bytes);
	free(places);
	return is_found;
}

size_t package_list(const char *interpreter, struct buf *out)
{
	char(*places)[PLACE_BYTES] = xcalloc(PLACES, PLACE_BYTES);
	struct found found = {0};
	size_t n = 0;
	if (find_places(interpreter, places) > 0)
		for (size_t i = 0; i < PLACES_OF_PACKAGES; i++)
			take_directory(&found, places[i]);
	free(places);
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (!found.version[i][0])
			continue;
		buf_addf(out, "%s%s %s", n++ ? ", " : "",
			known[i].name ? known[i].name : known[i].distribution, found.version[i]);
	}
	return n;
}

static bool is_listed(const char *list, const char *name)
{
	size_t bytes = strlen(name);
	for (const char *at = list; (at = strstr(at, name)); at += bytes)
		if ((at == list || at[-1] == ' ') && at[bytes] == ' ')
			return true;
	return false;
}

const char *package_near(const char *list, const char *module)
{
	struct word_near near = WORD_NEAR(module);
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		const char *name = known[i].name ? known[i].name : known[i].distribution;
		if (!is_listed(list, name) || strcmp(name, module) == 0)
			continue;
		if (is_same(known[i].distribution, module, strlen(module)))
			return name;
		word_near_try(&near, name);
	}
	return near.best;
}
