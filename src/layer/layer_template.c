/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/layer_template.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "layer/layer_dir.h"
#include "layer/layer_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

int layer_check_name(const char *name, struct err *err)
{
	size_t n = strlen(name);
	if (n > 0 && n < LAYER_NAME_BYTES && strspn(name, letters) == n && name[0] != '.' &&
		name[0] != '-')
		return 0;
	return err_fail(err, ERR_USAGE,
		"use letters, digits, '-', '_' and '.', at most 63, and begin with a letter or digit",
		"\"%.64s\" is no name for a template", name);
}

void layer_template_file(const char *name, char out[LAYER_NAME_BYTES + 8])
{
	snprintf(out, LAYER_NAME_BYTES + 8, "%s.json", name);
}

json_t *layer_store_get(struct layer_store *s, const char *owner, const char *name, struct err *err)
{
	char file[LAYER_NAME_BYTES + 8];
	if (layer_check_name(name, err) < 0)
		return NULL;
	layer_template_file(name, file);
	cleanup_fd int dir = layer_record_dir(s, LAYER_TEMPLATES, owner, false);
	json_t *about = dir < 0 ? NULL : layer_record_read(dir, file);
	if (about)
		return about;
	if (dir >= 0 && faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		(void)err_fail(
			err, ERR_DAMAGED, "build it again", "template %.64s cannot be read", name);
	else if (owner[0])
		(void)err_fail(err, ERR_NOT_FOUND, "`template.list` lists them",
			"no template %.64s", name);
	else
		(void)err_fail(err, ERR_NOT_FOUND, "`retort template ls` lists them",
			"no template %.64s in %.120s", name, layer_store_dir(s));
	return NULL;
}

json_t *layer_store_list(struct layer_store *s, const char *owner)
{
	return layer_record_list(s, LAYER_TEMPLATES, owner);
}

int layer_store_remove(struct layer_store *s, const char *owner, const char *name, bool *is_in_use,
	struct err *err)
{
	char file[LAYER_NAME_BYTES + 8];
	cleanup_json json_t *about = layer_store_get(s, owner, name, err);
	if (!about && err->code != ERR_DAMAGED)
		return -err_errno(err->code);
	layer_template_file(name, file);
	cleanup_fd int dir = layer_record_dir(s, LAYER_TEMPLATES, owner, false);
	if (dir < 0 || unlinkat(dir, file, 0) < 0)
		return err_sys(err, file_code(errno), errno, "remove template %s", name);
	struct err ignored; /* the layer goes later */
	(void)layer_sweep(s, 0, NULL, &ignored);
	const char *digest = json_get_text(about, "layer");
	cleanup_fd int layers = layer_open_layers(s, false);
	cleanup_json json_t *wanted = NULL;
	*is_in_use = about && layers >= 0 && layer_all_wanted(s, &wanted, &ignored) == 0 &&
		!json_object_get(wanted, digest) &&
		faccessat(layers, digest, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	return 0;
}

struct counting {
	const char *file;
	size_t n;
};

static bool count_row(void *arg, int dir, const char *name)
{
	struct counting *c = arg;
	(void)dir;
	c->n += strcmp(name, c->file) != 0;
	return false;
}

int layer_check_count(struct layer_store *s, const char *owner, const char *name, struct err *err)
{
	char file[LAYER_NAME_BYTES + 8];
	struct counting c = {.file = file};
	layer_template_file(name, file);
	cleanup_fd int dir = layer_record_dir(s, LAYER_TEMPLATES, owner, false);
	if (dir >= 0)
		(void)layer_each(dir, count_row, &c);
	if (c.n < LAYER_OWNER_MAX)
		return 0;
	return err_fail(err, ERR_QUOTA, "remove one", "there are %zu templates already", c.n);
}
