/* Parsing of /proc/self/cgroup and /proc/self/mountinfo. SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/cgroup_ops.h"

#include <errno.h>
#include <string.h>

const char *const cgroup_controller_names[CGROUP_CONTROLLER_END_] = {
	[CGROUP_MEMORY] = "memory",
	[CGROUP_PIDS] = "pids",
	[CGROUP_CPU] = "cpu",
	[CGROUP_CPUACCT] = "cpuacct",
};

/* Parse a line "hierarchy-ID:controller-list:cgroup-path"; its path has no escapes. Source:
 * cgroups(7). */
static void self_line(struct cgroup_self *self, char *line)
{
	char *list = strchr(line, ':');
	char *path = list ? strchr(list + 1, ':') : NULL;
	if (!path || path[1] != '/')
		return;
	*list++ = '\0';
	*path++ = '\0';
	if (strcmp(line, "0") == 0 && !*list)
		(void)cgroup_file_path(self->v2, sizeof self->v2, "%s", path);
	for (size_t c = 0; c < CGROUP_CONTROLLER_END_; c++)
		if (cgroup_file_has_word(list, cgroup_controller_names[c], ","))
			(void)cgroup_file_path(self->v1[c], sizeof self->v1[c], "%s", path);
}

void cgroup_self_read(struct cgroup_self *self, const char *root)
{
	struct cgroup_lines lines;
	char path[CGROUP_FILE_BYTES];
	*self = (struct cgroup_self){0};
	if (cgroup_file_path(path, sizeof path, "%s/proc/self/cgroup", root) < 0 ||
		cgroup_lines_open(&lines, path) < 0)
		return;
	for (char *line; (line = cgroup_lines_next(&lines));)
		self_line(self, line);
	cgroup_lines_close(&lines);
}

int cgroup_mounts_open(struct cgroup_lines *lines, const char *root)
{
	char path[CGROUP_FILE_BYTES];
	int r = cgroup_file_path(path, sizeof path, "%s/proc/self/mountinfo", root);
	return r < 0 ? r : cgroup_lines_open(lines, path);
}

static bool is_octal(const char *at)
{
	return at[0] >= '0' && at[0] <= '3' && at[1] >= '0' && at[1] <= '7' && at[2] >= '0' &&
		at[2] <= '7';
}

/* Decode mountinfo's octal escapes \ooo of space, tab, newline and backslash. Source:
 * proc_pid_mountinfo(5). */
static void unescape(char *text)
{
	char *to = text;
	for (const char *at = text; *at; to++) {
		if (*at == '\\' && is_octal(at + 1)) {
			*to = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
			at += 4;
		} else {
			*to = *at++;
		}
	}
	*to = '\0';
}

static bool take_field(char out[CGROUP_PATH_BYTES], char **rest)
{
	const char *field = strsep(rest, " ");
	return field && *field && cgroup_file_path(out, CGROUP_PATH_BYTES, "%s", field) == 0;
}

/* Parse a line of mountinfo: "id parent major:minor root point options [tag…] - type source
 * options". Returns: false if it is not a cgroup mount. */
static bool mount_line(struct cgroup_mount *mount, char *line)
{
	char *rest = strstr(line, " - ");
	if (!rest)
		return false;
	*rest = '\0';
	rest += 3;
	const char *type = strsep(&rest, " ");
	mount->is_v2 = strcmp(type, "cgroup2") == 0;
	if (!mount->is_v2 && strcmp(type, "cgroup") != 0)
		return false;
	if (!strsep(&rest, " ") || !take_field(mount->options, &rest))
		return false;
	for (int i = 0; i < 3; i++)
		if (!strsep(&line, " "))
			return false;
	if (!take_field(mount->root, &line) || !take_field(mount->point, &line))
		return false;
	unescape(mount->root);
	unescape(mount->point);
	return mount->root[0] == '/' && mount->point[0] == '/';
}

bool cgroup_mounts_next(struct cgroup_lines *lines, struct cgroup_mount *mount)
{
	for (char *line; (line = cgroup_lines_next(lines));)
		if (mount_line(mount, line))
			return true;
	return false;
}

/* Return whether @path begins with "/..": it is outside our cgroup namespace, so we do not know the
 * names of the cgroups that lead to it. */
static bool leaves_namespace(const char *path)
{
	return strcmp(path, "/..") == 0 || strncmp(path, "/../", 4) == 0;
}

int cgroup_mount_dir(char out[CGROUP_PATH_BYTES], const char *root,
	const struct cgroup_mount *mount, const char *own)
{
	const char *below = own;
	size_t n_root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
	out[0] = '\0';
	if (leaves_namespace(own) || leaves_namespace(mount->root))
		return -ENOENT;
	if (strncmp(own, mount->root, n_root) != 0 || (own[n_root] && own[n_root] != '/'))
		return -ENOENT;
	below += n_root;
	return cgroup_file_path(out, CGROUP_PATH_BYTES, "%s%s%s", root,
		strcmp(mount->point, "/") == 0 ? "" : mount->point,
		strcmp(below, "/") == 0 ? "" : below);
}
