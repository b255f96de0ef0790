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

enum { FILE_BYTES = DIGEST_BYTES + 8, SHORT_DIGITS = 6 };

static const char operator_of[] = ""; /* images are the operator's */

static void file_of(const char *name, char out[FILE_BYTES])
{
	char digest[DIGEST_BYTES];
	digest_text(digest, name, strlen(name));
	snprintf(out, FILE_BYTES, "%s.json", digest);
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

/* Find an image by the beginning of its digest. Returns: NULL if there is none, or several. */
static json_t *find_digest(struct layer_store *s, const char *text)
{
	size_t n = strlen(text), i, n_found = 0;
	cleanup_json json_t *all = NULL;
	json_t *one, *found = NULL;
	if (n < SHORT_DIGITS || strspn(text, "0123456789abcdef") != n)
		return NULL;
	all = image_store_list(s);
	json_array_foreach(all, i, one)
	{
		if (strncmp(json_get_text(one, "digest"), text, n) != 0)
			continue;
		n_found += !found ||
			strcmp(json_get_text(one, "digest"), json_get_text(found, "digest")) != 0;
		found = one;
	}
	return n_found == 1 ? json_incref(found) : NULL;
}

json_t *image_store_get(struct layer_store *s, const char *name, struct err *err)
{
	struct image_ref ref;
	char full[IMAGE_NAME_BYTES], file[FILE_BYTES];
	json_t *about = find_digest(s, name);
	if (about)
		return about;
	if (image_ref_parse(&ref, name, err) < 0)
		return NULL;
	image_ref_name(&ref, full);
	file_of(full, file);
	cleanup_fd int dir = layer_record_dir(s, LAYER_IMAGES, operator_of, false);
	about = dir < 0 ? NULL : layer_record_read(dir, file);
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

int image_store_remove(struct layer_store *s, const char *name, struct err *err)
{
	char file[FILE_BYTES];
	cleanup_json json_t *about = image_store_get(s, name, err);
	struct image_ref ref;
	char full[IMAGE_NAME_BYTES] = "";
	if (!about && err->code != ERR_DAMAGED)
		return -err_errno(err->code);
	if (!about && image_ref_parse(&ref, name, err) == 0)
		image_ref_name(&ref, full);
	file_of(about ? json_get_text(about, "name") : full, file);
	cleanup_fd int dir = layer_record_dir(s, LAYER_IMAGES, operator_of, false);
	if (dir < 0 || unlinkat(dir, file, 0) < 0)
		return err_sys(err, file_code(errno), errno, "remove image %.150s", name);
	layer_sweep(s, NULL);
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

void image_store_prune(struct layer_store *s, int64_t part_age_s, uint64_t *bytes)
{
	struct pruning p = {.before = time(NULL) - (time_t)part_age_s, .bytes = bytes};
	*bytes = 0;
	cleanup_fd int parts = layer_open_place(s, "downloads", false);
	if (parts >= 0)
		(void)layer_each(parts, prune_part, &p);
	layer_sweep(s, bytes);
}
