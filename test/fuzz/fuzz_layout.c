/* Directories of images. The input: parts that end in NUL; the first is index.json, the second
 * manifest.json, and each of the others is a file "2", "3", …, and a blob by its digest. "@N@" in a
 * part stands for the digest of the later part N.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "image/layout.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS_MAX = 9, PART_BYTES = 64 << 10 };

struct part {
	struct buf text;
	char digest[DIGEST_BYTES], blob[128], name[32];
};

static void fill(struct part *parts, unsigned number, const uint8_t *from, size_t bytes)
{
	struct part *part = &parts[number];
	part->text = BUF_INIT(PART_BYTES);
	for (size_t i = 0; i < bytes; i++) {
		unsigned n = i + 2 < bytes && from[i] == '@' && from[i + 2] == '@'
			? (unsigned)from[i + 1] - '0'
			: 0;
		if (n > number && n < PARTS_MAX) {
			(void)buf_add(&part->text, parts[n].digest);
			i += 2;
		} else {
			(void)buf_append(&part->text, (const char *)from + i, 1);
		}
	}
	digest_text(part->digest, buf_str(&part->text), part->text.bytes);
	snprintf(part->name, sizeof part->name, "layout/%s",
		number == 0	      ? "index.json"
			: number == 1 ? "manifest.json"
				      : (char[]){(char)('0' + number), '\0'});
	snprintf(part->blob, sizeof part->blob, "layout/blobs/sha256/%s", part->digest);
	const uint8_t *data = (const uint8_t *)buf_str(&part->text);
	fuzz_put(part->name, data, part->text.bytes);
	if (number > 1)
		fuzz_put(part->blob, data, part->text.bytes);
}

static void check(const struct layout *l)
{
	struct err err;
	MUST(json_is_object(l->config));
	MUST(l->manifest.n_layers <= IMAGE_LAYERS_MAX);
	MUST(strlen(l->digest) == DIGEST_BYTES - 1);
	MUST(json_array_size(json_object_get(l->config, "diffs")) == l->manifest.n_layers);
	if (l->name[0]) {
		struct image_ref ref;
		MUST(image_ref_parse(&ref, l->name, &err) == 0);
	}
	for (unsigned i = 0; i < l->manifest.n_layers; i++) {
		cleanup_fd int fd = layout_open(l, i, &err);
		MUST(fd >= 0 || err.code != ERR_NONE);
		MUST(fd < 0 ||
			lseek(fd, 0, SEEK_END) <= PART_BYTES); /* none of another directory */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct layout layout;
	struct part parts[PARTS_MAX] = {0};
	const uint8_t *from[PARTS_MAX];
	size_t sizes[PARTS_MAX];
	char path[256];
	struct err err = {0};
	unsigned n = 0;
	fuzz_mkdir("layout");
	fuzz_mkdir("layout/blobs");
	fuzz_mkdir("layout/blobs/sha256");
	fuzz_put("layout/oci-layout", (const uint8_t *)"{}", 2);
	while (n < PARTS_MAX && bytes > 0) {
		sizes[n] = fuzz_part(&data, &bytes, &from[n]);
		n++;
	}
	for (unsigned i = n; i-- > 0;)
		fill(parts, i, from[i], sizes[i]);
	snprintf(path, sizeof path, "%s/layout", fuzz_dir());
	cleanup_fd int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (n > 0 && parts[0].text.bytes == 0) {
		(void)unlinkat(dir, "index.json", 0);
		n = n > 1 ? n : 0;
	}
	if (layout_read(&layout, dir, n > 2 && sizes[0] % 2 ? "app" : NULL, &err))
		check(&layout);
	layout_done(&layout);
	for (unsigned i = 0; i < PARTS_MAX; i++) {
		(void)unlinkat(dir, parts[i].name + (parts[i].name[0] ? 7 : 0), 0);
		(void)unlinkat(dir, parts[i].blob + (parts[i].blob[0] ? 7 : 0), 0);
		buf_done(&parts[i].text);
	}
	return 0;
}
