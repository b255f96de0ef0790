/* SPDX-License-Identifier: Apache-2.0 */
#include "session/start/order_image.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/json.h"
#include "sandbox/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { NAMES_BYTES = 1 << 20, ID_MAX = INT32_MAX };

static const char *const texts[] = {"workdir", "user"};
static const char *const lists[] = {"env", "entrypoint", "cmd"};

json_t *order_image_about(const json_t *record)
{
	const json_t *from = json_object_get(record, "config"), *layer;
	json_t *config = json_need(json_object()), *layers = json_need(json_array());
	size_t i;
	for (i = 0; i < ARRAY_LEN(texts); i++)
		if (json_get_text(from, texts[i])[0])
			json_put_text(config, texts[i], json_get_text(from, texts[i]));
	for (i = 0; i < ARRAY_LEN(lists); i++)
		if (json_array_size(json_object_get(from, lists[i])) > 0)
			json_put_shared(config, lists[i], json_object_get(from, lists[i]));
	json_array_foreach(json_object_get(record, "layers"), i, layer)
	{
		json_add_text(layers, json_get_text(layer, "digest"));
	}
	return json_need(json_pack("{s:s, s:s, s:o, s:o}", "name", json_get_text(record, "name"),
		"digest", json_get_text(record, "digest"), "layers", layers, "config", config));
}

static bool is_list_of_texts(const json_t *list)
{
	size_t i;
	const json_t *text;
	json_array_foreach(json_unconst(list), i, text)
	{
		if (!json_is_string(text))
			return false;
	}
	return json_is_array(list);
}

bool order_image_is_valid(const json_t *about)
{
	const json_t *config = json_object_get(about, "config");
	const json_t *layers = json_object_get(about, "layers");
	bool is_good = json_is_string(json_object_get(about, "name")) && json_is_object(config) &&
		json_is_string(json_object_get(about, "digest")) && is_list_of_texts(layers) &&
		json_array_size(layers) > 0;
	for (size_t i = 0; i < ARRAY_LEN(texts) && is_good; i++) {
		const json_t *text = json_object_get(config, texts[i]);
		is_good = !text || json_is_string(text);
	}
	for (size_t i = 0; i < ARRAY_LEN(lists) && is_good; i++) {
		const json_t *list = json_object_get(config, lists[i]);
		is_good = !list || is_list_of_texts(list);
	}
	return is_good;
}

const char **order_image_env(const struct order_image *image, size_t *n)
{
	const json_t *env = json_object_get(json_object_get(image->about, "config"), "env"), *one;
	const char **out = xcalloc(json_array_size(env) + 1, sizeof *out);
	size_t i;
	*n = 0;
	json_array_foreach(json_unconst(env), i, one)
	{
		const char *text = json_string_value(one);
		if (text[0] != '=' && strchr(text, '='))
			out[(*n)++] = text;
	}
	return out;
}

const char *order_image_workdir(const json_t *about)
{
	const char *dir = json_get_text(json_object_get(about, "config"), "workdir");
	return dir[0] && strspn(dir, "/") < strlen(dir) ? dir : NULL;
}

/* ---- the user ---- */

/*
 * Read a file of /etc. It is that of the highest layer that says something about it: which has the
 * file, or a mark that it was deleted. No link is followed, so that an image cannot lead this
 * process anywhere. Returns: its text, which the caller frees; NULL if there is none.
 */
static char *read_names(const struct order_image *image, const char *name)
{
	for (size_t i = image->n_trees; i > 0; i--) {
		struct stat st;
		cleanup_fd int tree = open(image->trees[i - 1], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (tree < 0 || fstatat(tree, "etc", &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		cleanup_fd int etc =
			sys_open_beneath(tree, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
		if (etc < 0)
			return NULL; /* a mark, a file or a link: it hides those below */
		if (fstatat(etc, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (fgetxattr(etc, "user.overlay.opaque", NULL, 0) > 0)
				return NULL;
			continue;
		}
		cleanup_fd int fd = S_ISREG(st.st_mode)
			? sys_open_beneath(etc, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0)
			: -1;
		if (fd < 0)
			return NULL; /* for example a mark that it was deleted */
		char *text = xcalloc(NAMES_BYTES + 1, 1);
		ssize_t n = fd_read_all(fd, text, NAMES_BYTES);
		text[n < 0 ? 0 : n] = '\0';
		return text;
	}
	return NULL;
}

static bool is_number(const char *text)
{
	return text[0] && strspn(text, "0123456789") == strlen(text) && strlen(text) < 11;
}

/* Return field @i of a line, which ends at ':' or a newline; *@bytes: its length. */
static const char *field(const char *line, unsigned i, size_t *bytes)
{
	while (i > 0 && *line && *line != '\n')
		i -= *line++ == ':';
	*bytes = strcspn(line, ":\n");
	return line;
}

/* Find the line whose field @at is @word. Returns: NULL if there is none. */
static const char *find_line(const char *text, unsigned at, const char *word)
{
	for (const char *line = text; line && *line;) {
		size_t bytes;
		const char *found = field(line, at, &bytes);
		if (bytes == strlen(word) && strncmp(found, word, bytes) == 0)
			return line;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return NULL;
}

static bool read_id(const char *line, unsigned at, uint32_t *out)
{
	char number[16];
	size_t bytes;
	const char *text = field(line, at, &bytes);
	if (bytes == 0 || bytes >= sizeof number)
		return false;
	memcpy(number, text, bytes);
	number[bytes] = '\0';
	unsigned long value = strtoul(number, NULL, 10);
	*out = (uint32_t)value;
	return is_number(number) && value <= ID_MAX;
}

/* Find the id of @word, a name or a number, in a file of /etc. *@line: its line, or NULL. */
static int find_id(const char *names, const char *word, const char *what, uint32_t *id,
	const char **line, struct err *err)
{
	*line = find_line(names, is_number(word) ? 2 : 0, word);
	if (*line && read_id(*line, 2, id))
		return 0;
	if (!is_number(word))
		return err_fail(err, ERR_NOT_FOUND,
			"its configuration names it: make the image with a user that it has, or "
			"with a number",
			names ? "the image has no %s %.80s"
			      : "the image has no /etc/%s, so no %.80s",
			names			 ? what
				: what[0] == 'u' ? "passwd"
						 : "group",
			word);
	unsigned long value = strtoul(word, NULL, 10);
	if (value > ID_MAX)
		return err_fail(err, ERR_USAGE, "make the image with a smaller number",
			"the %s of the image, %.20s, is no id that a box can have", what, word);
	*id = (uint32_t)value;
	return 0;
}

const char *order_image_user_name(const json_t *about)
{
	static char name[64];
	const char *user = json_get_text(json_object_get(about, "config"), "user");
	snprintf(name, sizeof name, "%.*s", (int)strcspn(user, ":"), user);
	return name[0] && !is_number(name) ? name : "user";
}

int order_image_user(const struct order_image *image, uint32_t *uid, uint32_t *gid, struct err *err)
{
	const char *user = json_get_text(json_object_get(image->about, "config"), "user");
	char name[128];
	size_t n = strcspn(user, ":");
	const char *group = user[n] ? user + n + 1 : "", *line = NULL;
	*uid = *gid = 0;
	if (n >= sizeof name)
		return err_fail(err, ERR_USAGE, "make the image with a user that it has",
			"the name of the image's user is too long: %.80s…", user);
	memcpy(name, user, n);
	name[n] = '\0';
	char *passwd = n > 0 ? read_names(image, "passwd") : NULL;
	int r = n > 0 ? find_id(passwd, name, "user", uid, &line, err) : 0;
	if (r == 0 && line && !group[0] && !read_id(line, 3, gid))
		*gid = 0;
	if (r == 0 && group[0]) {
		char *groups = read_names(image, "group");
		r = find_id(groups, group, "group", gid, &line, err);
		free(groups);
	}
	free(passwd);
	return r;
}
