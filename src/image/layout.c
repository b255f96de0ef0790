/*
 * Directories of images. An OCI layout has "oci-layout", "index.json" and the parts of images by
 * their digests. What older versions of docker write has "manifest.json", which names files;
 * newer ones write both.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/layout.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "sandbox/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LISTED_BYTES = 200, INDEX_DEPTH_MAX = 3 };

static const char containerd_name[] = "io.containerd.image.name";
static const char ref_name[] = "org.opencontainers.image.ref.name";

/* ---- files ---- */

static int open_file(int dir, const char *path, struct err *err)
{
	struct stat st;
	cleanup_fd int fd =
		sys_open_in_root(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : file_code(errno), errno,
			"the image has no file %.150s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, ERR_DAMAGED, "%.150s of the image is no file", path);
	return take_fd(fd);
}

static int load(int dir, const char *path, struct buf *out, struct err *err)
{
	cleanup_fd int fd = open_file(dir, path, err);
	if (fd < 0)
		return fd;
	*out = BUF_INIT(IMAGE_DOCUMENT_BYTES);
	int r = file_read_fd(out, fd);
	return r < 0 ? err_sys(err, r == -E2BIG ? ERR_LIMIT : ERR_IO, -r,
			       "read %.150s of the image", path)
		     : 0;
}

static void path_of(const char *digest, char out[LAYOUT_PATH_BYTES])
{
	snprintf(out, LAYOUT_PATH_BYTES, "blobs/sha256/%s", digest);
}

/* Read a document by its digest, and check that. */
static int load_blob(int dir, const char *digest, struct buf *out, struct err *err)
{
	char path[LAYOUT_PATH_BYTES], found[DIGEST_BYTES];
	path_of(digest, path);
	int r = load(dir, path, out, err);
	if (r < 0)
		return r;
	digest_text(found, buf_str(out), out->bytes);
	if (strcmp(found, digest) == 0)
		return 0;
	return err_set(err, ERR_DAMAGED,
		"a document of the image has the digest %.12s…, and should have %.12s…", found,
		digest);
}

static json_t *load_json(int dir, const char *path, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(IMAGE_DOCUMENT_BYTES);
	json_error_t why;
	if (load(dir, path, &text, err) < 0)
		return NULL;
	json_t *root = json_loadb(buf_str(&text), text.bytes, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		(void)err_set(err, ERR_DAMAGED, "%.100s of the image is no JSON", path);
	return root;
}

static bool has_file(int dir, const char *name)
{
	struct err err;
	cleanup_fd int fd = open_file(dir, name, &err);
	return fd >= 0;
}

/* ---- names ---- */

/* Write the name in full. Returns: false: it is no name. A tag alone is none, nor is a name with a
 * digest: nobody has compared it. */
static bool full_name(const char *text, char out[IMAGE_NAME_BYTES])
{
	struct image_ref ref;
	struct err err;
	if (!strpbrk(text, "/:") || image_ref_parse(&ref, text, &err) < 0 || ref.digest[0])
		return false;
	image_ref_name(&ref, out);
	return true;
}

static void take_name(struct layout *out, const char *called)
{
	if (!full_name(called, out->name))
		out->name[0] = '\0';
	snprintf(out->called, sizeof out->called, "%.*s", (int)sizeof out->called - 1, called);
}

static bool is_called(const char *name, const char *ref)
{
	struct image_ref wanted;
	struct err err;
	char full[IMAGE_NAME_BYTES], other[IMAGE_NAME_BYTES];
	if (strcmp(name, ref) == 0)
		return true;
	if (!full_name(name, full) || image_ref_parse(&wanted, ref, &err) < 0)
		return false;
	image_ref_name(&wanted, other);
	return strcmp(full, other) == 0;
}

/* Add a name to a list for a message, as long as there is room. */
static void add_name(char list[LISTED_BYTES], const char *name)
{
	size_t n = strlen(list);
	int more = snprintf(list + n, LISTED_BYTES - n, "%s%.80s", n ? ", " : "",
		name[0] ? name : "(without a name)");
	if (more < 0 || (size_t)more >= LISTED_BYTES - n)
		list[n] = '\0';
}

static int refuse_names(const char *ref, const char *list, struct err *err)
{
	if (ref)
		return err_set(err, ERR_NOT_FOUND, "no image is called \"%.80s\", but: %s", ref,
			list[0] ? list : "there is none at all");
	return err_fail(
		err, ERR_USAGE, "choose one: --ref NAME", "there are several images: %s", list);
}

/* ---- an OCI layout ---- */

static const char *name_of(const json_t *row)
{
	const json_t *notes = json_object_get(row, "annotations");
	const char *name = json_get_text(notes, containerd_name);
	return name[0] ? name : json_get_text(notes, ref_name);
}

/* Several rows with one name are one image for several platforms. Returns: an index with the rows
 * of the image, or NULL. */
static json_t *choose(const json_t *index, const char *ref, const char **name, struct err *err)
{
	const json_t *rows = json_object_get(index, "manifests"), *row;
	char list[LISTED_BYTES] = "";
	cleanup_json json_t *found = json_need(json_array());
	const char *one = NULL;
	size_t i;
	bool is_one = true;
	json_array_foreach(json_unconst(rows), i, row)
	{
		const char *called = name_of(row);
		const json_t *notes = json_object_get(row, "annotations");
		if (!one || strcmp(called, one) != 0)
			add_name(list, called);
		bool is_wanted = !ref || is_called(called, ref) ||
			is_called(json_get_text(notes, ref_name), ref);
		if (!is_wanted)
			continue;
		is_one = is_one && (!one || strcmp(called, one) == 0);
		one = called;
		json_add_shared(found, row);
	}
	*name = one ? one : "";
	if (json_array_size(found) == 0 && !ref)
		(void)err_set(err, ERR_DAMAGED, "index.json of the image names no image");
	else if (json_array_size(found) == 0 || !is_one)
		(void)refuse_names(ref, list, err);
	else
		return json_need(json_pack("{s:i, s:O}", "schemaVersion", 2, "manifests", found));
	return NULL;
}

static int read_manifest(struct layout *out, const json_t *index, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(IMAGE_DOCUMENT_BYTES);
	struct image_blob chosen;
	char *top = json_dumps(index, JSON_COMPACT);
	int r = top ? buf_add(&text, top) : -ENOMEM;
	free(top);
	if (r < 0)
		return err_set(err, ERR_LIMIT, "index.json of the image is too long");
	for (int depth = 0;; depth++) {
		r = image_manifest_read(
			buf_str(&text), text.bytes, image_architecture(), &out->manifest, err);
		if (r < 0 || !out->manifest.is_index)
			return r;
		chosen = out->manifest.chosen;
		if (depth == INDEX_DEPTH_MAX)
			return err_set(err, ERR_DAMAGED, "the image has an index in its index");
		buf_done(&text);
		r = load_blob(out->dir, chosen.digest, &text, err);
		if (r < 0)
			return r;
		if (!out->digest[0])
			memcpy(out->digest, chosen.digest, sizeof out->digest);
	}
}

static int read_oci(struct layout *out, const char *ref, struct err *err)
{
	const char *name = "";
	cleanup_buf struct buf text = BUF_INIT(IMAGE_DOCUMENT_BYTES);
	cleanup_json json_t *index = load_json(out->dir, "index.json", err);
	cleanup_json json_t *chosen = index ? choose(index, ref, &name, err) : NULL;
	if (!chosen)
		return -err_errno(err->code);
	take_name(out, name);
	int r = read_manifest(out, chosen, err);
	if (r == 0)
		r = load_blob(out->dir, out->manifest.config.digest, &text, err);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < out->manifest.n_layers; i++) {
		char path[LAYOUT_PATH_BYTES];
		path_of(out->manifest.layers[i].digest, path);
		memcpy(out->paths[i], path, sizeof path);
	}
	out->config = image_config_read(
		buf_str(&text), text.bytes, image_architecture(), out->manifest.n_layers, err);
	return out->config ? 0 : -err_errno(err->code);
}

/* ---- docker's old form ---- */

/* Note the file of a layer, whose digest nobody says. */
static int add_saved(struct layout *out, const char *path, struct err *err)
{
	struct stat st;
	struct image_blob *blob = &out->manifest.layers[out->manifest.n_layers];
	if (strlen(path) >= LAYOUT_PATH_BYTES)
		return err_set(err, ERR_DAMAGED, "the image has a path that is too long");
	snprintf(out->paths[out->manifest.n_layers++], LAYOUT_PATH_BYTES, "%s", path);
	cleanup_fd int fd = open_file(out->dir, path, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_sys(err, ERR_IO, errno, "read %.150s of the image", path);
	blob->bytes = (uint64_t)st.st_size;
	return image_check_size(blob->bytes, err);
}

/* Choose an image of the list. *@name: its first name. */
static const json_t *choose_saved(
	const json_t *list, const char *ref, const char **name, struct err *err)
{
	char listed[LISTED_BYTES] = "";
	const json_t *row, *found = NULL, *tag;
	size_t i, k, n_found = 0;
	json_array_foreach(json_unconst(list), i, row)
	{
		const json_t *tags = json_object_get(row, "RepoTags");
		const char *first = json_string_value(json_array_get(tags, 0));
		bool is_wanted = !ref;
		add_name(listed, first ? first : "");
		json_array_foreach(json_unconst(tags), k, tag)
		{
			const char *text = json_string_value(tag);
			if (!ref || !text || !is_called(text, ref))
				continue;
			is_wanted = true;
			first = text;
		}
		if (!is_wanted)
			continue;
		n_found++;
		found = row;
		*name = first ? first : "";
	}
	if (n_found == 1)
		return found;
	(void)refuse_names(ref, listed, err);
	return NULL;
}

static int read_saved(struct layout *out, const json_t *list, const char *ref, struct err *err)
{
	const char *name = "";
	const json_t *image = choose_saved(list, ref, &name, err), *path;
	const json_t *layers = json_object_get(image, "Layers");
	cleanup_buf struct buf text = BUF_INIT(IMAGE_DOCUMENT_BYTES);
	size_t i;
	int r = 0;
	if (!image)
		return -err_errno(err->code);
	if (json_array_size(layers) > IMAGE_LAYERS_MAX)
		return err_set(err, ERR_DAMAGED, "the image has %zu layers, limit %d",
			json_array_size(layers), IMAGE_LAYERS_MAX);
	r = load(out->dir, json_get_text(image, "Config"), &text, err);
	if (r < 0)
		return r;
	digest_text(out->digest, buf_str(&text), text.bytes);
	take_name(out, name);
	json_array_foreach(json_unconst(layers), i, path)
	{
		r = add_saved(out, json_is_string(path) ? json_string_value(path) : "", err);
		if (r < 0)
			return r;
	}
	out->is_saved = true;
	out->config = image_config_read(
		buf_str(&text), text.bytes, image_architecture(), out->manifest.n_layers, err);
	return out->config ? 0 : -err_errno(err->code);
}

/* ---- both ---- */

bool layout_read(struct layout *out, int dir, const char *ref, struct err *err)
{
	*out = (struct layout){.dir = dir};
	err->code = ERR_NONE;
	if (has_file(dir, "oci-layout"))
		return read_oci(out, ref, err) == 0;
	if (!has_file(dir, "manifest.json"))
		return false;
	cleanup_json json_t *list = load_json(dir, "manifest.json", err);
	/* A system may have a file of this name, too. */
	const json_t *first = json_array_get(list, 0);
	if (!json_get_text(first, "Config")[0] ||
		!json_is_array(json_object_get(first, "Layers"))) {
		err->code = ERR_NONE;
		return false;
	}
	return read_saved(out, list, ref, err) == 0;
}

void layout_done(struct layout *l)
{
	json_decref(l->config);
	l->config = NULL;
}

int layout_open(const struct layout *l, unsigned layer, struct err *err)
{
	return open_file(l->dir, l->paths[layer], err);
}
