/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image_store.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "layer/layer_dir.h"
#include "layer/layer_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_BYTES = DIGEST_BYTES + 8, SHORT_DIGITS = 6, LISTED_BYTES = 180 };

static const char operator_of[] = ""; /* images are the operator's */

static void file_of(const char *name, char out[FILE_BYTES])
{
	char digest[DIGEST_BYTES];
	digest_text(digest, name, strlen(name));
	snprintf(out, FILE_BYTES, "%s.json", digest);
}

json_t *image_store_about(
	const struct image_ref *name, const char *digest, json_t *layers, const json_t *config)
{
	char full[IMAGE_NAME_BYTES];
	struct timespec now;
	json_int_t bytes = 0, files = 0;
	const json_t *layer;
	size_t i;
	json_array_foreach(layers, i, layer)
	{
		bytes += json_get_int(layer, "bytes");
		files += json_get_int(layer, "files");
	}
	image_ref_name(name, full);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return json_need(json_pack("{s:s, s:s, s:o, s:O, s:I, s:I, s:I}", "name", full, "digest",
		digest, "layers", layers, "config", config, "bytes", bytes, "files", files,
		"made_ms", (json_int_t)now.tv_sec * 1000 + now.tv_nsec / 1000000));
}

int image_store_put(struct layer_store *s, const json_t *about, struct err *err)
{
	char file[FILE_BYTES];
	file_of(json_get_text(about, "name"), file);
	return layer_record_put(s, LAYER_IMAGES, operator_of, file, about, err);
}

json_t *image_store_list(struct layer_store *s)
{
	return layer_record_list(s, LAYER_IMAGES, operator_of);
}

/* What a text finds: images with one digest, by their names. */
struct found {
	json_t *about; /* of the first; the caller decrefs */
	size_t n_names;
	bool is_several; /* there are several digests */
	char listed[LISTED_BYTES];
};

static void add_found(struct found *f, json_t *about)
{
	size_t n = strlen(f->listed);
	if (!f->about)
		f->about = json_incref(about);
	f->is_several = f->is_several ||
		strcmp(json_get_text(about, "digest"), json_get_text(f->about, "digest")) != 0;
	int more = snprintf(f->listed + n, sizeof f->listed - n, "%s%s", n ? ", " : "",
		image_ref_short(json_get_text(about, "name")));
	if (more < 0 || (size_t)more >= sizeof f->listed - n)
		f->listed[n] = '\0';
	f->n_names++;
}

/* Find images by the beginning of their digest. */
static void find_digest(struct layer_store *s, const char *text, struct found *out)
{
	size_t n = strlen(text), i;
	json_t *one;
	*out = (struct found){.n_names = 0};
	if (n < SHORT_DIGITS || strspn(text, "0123456789abcdef") != n)
		return;
	cleanup_json json_t *all = image_store_list(s);
	json_array_foreach(all, i, one)
	{
		if (strncmp(json_get_text(one, "digest"), text, n) == 0)
			add_found(out, one);
	}
}

static json_t *read_named(struct layer_store *s, const char *name, struct err *err)
{
	struct image_ref ref;
	char full[IMAGE_NAME_BYTES], file[FILE_BYTES];
	if (image_ref_parse(&ref, name, err) < 0)
		return NULL;
	image_ref_name(&ref, full);
	file_of(full, file);
	cleanup_fd int dir = layer_record_dir(s, LAYER_IMAGES, operator_of, false);
	json_t *about = dir < 0 ? NULL : layer_record_read(dir, file);
	if (about)
		return about;
	if (dir >= 0 && faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		(void)err_fail(err, ERR_DAMAGED, "pull it again", "image %.150s cannot be read",
			image_ref_short(full));
		return NULL;
	}
	(void)err_set(err, ERR_NOT_FOUND, "no image %.150s on this host", image_ref_short(full));
	(void)err_hint(err, "get it: retort image pull %.200s", image_ref_short(full));
	return NULL;
}

/* Read an image by its name, or, if there is none of that name, by its digest. *@f: what was found
 * by the digest. */
static json_t *read_image(struct layer_store *s, const char *text, struct found *f, struct err *err)
{
	bool is_digest = strncmp(text, "sha256:", 7) == 0;
	*f = (struct found){.n_names = 0};
	json_t *about = is_digest ? NULL : read_named(s, text, err);
	if (about || (!is_digest && err->code != ERR_NOT_FOUND))
		return about;
	find_digest(s, is_digest ? text + 7 : text, f);
	if (f->about && !f->is_several)
		return f->about;
	json_decref(f->about);
	if (f->is_several)
		(void)err_fail(err, ERR_USAGE, "give more digits, or a name",
			"several images have a digest that begins so: %s", f->listed);
	else if (is_digest)
		(void)err_fail(err, ERR_NOT_FOUND, "list them: retort image ls",
			"no image on this host has the digest %.71s", text);
	return NULL;
}

json_t *image_store_get(struct layer_store *s, const char *name, struct err *err)
{
	struct found found;
	return read_image(s, name, &found, err);
}

int image_store_remove(struct layer_store *s, const char *name, struct err *err)
{
	char file[FILE_BYTES];
	struct found found;
	cleanup_json json_t *about = read_image(s, name, &found, err);
	struct image_ref ref;
	char full[IMAGE_NAME_BYTES] = "";
	if (!about && err->code == ERR_NOT_FOUND)
		(void)err_hint(err, "list them: retort image ls");
	if (!about && err->code != ERR_DAMAGED)
		return -err_errno(err->code);
	if (about && found.n_names > 1)
		return err_fail(err, ERR_USAGE, "remove them by their names",
			"the image has several names: %s", found.listed);
	if (!about && image_ref_parse(&ref, name, err) == 0)
		image_ref_name(&ref, full);
	file_of(about ? json_get_text(about, "name") : full, file);
	cleanup_fd int dir = layer_record_dir(s, LAYER_IMAGES, operator_of, false);
	if (dir < 0 || unlinkat(dir, file, 0) < 0)
		return err_sys(err, file_code(errno), errno, "remove image %.150s", name);
	struct err ignored; /* the layers go later */
	(void)layer_sweep(s, 0, NULL, &ignored);
	return 0;
}

/* ---- pruning ---- */

struct pruning {
	time_t before;
	uint64_t *bytes;
};

static bool prune_part(void *arg, int dir, const char *name)
{
	const struct pruning *p = arg;
	struct stat st;
	cleanup_fd int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_idle = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
	if (is_idle && fstat(fd, &st) == 0 && st.st_mtime <= p->before &&
		unlinkat(dir, name, 0) == 0)
		*p->bytes += (uint64_t)st.st_size;
	return false;
}

int image_store_prune(struct layer_store *s, int64_t age_s, uint64_t *bytes, struct err *err)
{
	struct pruning p = {.before = time(NULL) - (time_t)age_s, .bytes = bytes};
	*bytes = 0;
	cleanup_fd int parts = layer_open_place(s, "downloads", false);
	if (parts >= 0)
		(void)layer_each(parts, prune_part, &p);
	return layer_sweep(s, age_s, bytes, err);
}
