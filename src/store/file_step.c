/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file_step.h"

#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char runtime_word[] = "file";
static const char *const acts[] = {"write", "remove"};

bool file_step_is(const struct journal_node *node)
{
	return strcmp(node->runtime, runtime_word) == 0;
}

static char *record_text(const struct file_step *file)
{
	cleanup_json json_t *json =
		json_pack("{s:s, s:s}", "act", acts[file->is_removal], "path", file->path);
	if (json && !file->is_removal) {
		json_put_text(json, "sha256", file->digest);
		json_put_int(json, "size", (int64_t)file->size_bytes);
	}
	return json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
}

int file_step_write(
	const struct file_step *file, struct journal_node *node, char **text, struct err *err)
{
	char *record = record_text(file);
	size_t room = record ? strlen(record) + strlen(file->path) + 16 : 0;
	char *both = record ? malloc(room) : NULL;
	if (!both) {
		free(record);
		return err_set(err, ERR_USAGE, "the file's path is not UTF-8");
	}
	size_t bytes = strlen(record);
	memcpy(both, record, bytes + 1);
	free(record);
	node->record = both;
	node->record_bytes = bytes;
	node->code = both + bytes + 1;
	node->code_bytes = (size_t)snprintf(
		both + bytes + 1, room - bytes - 1, "%s %s", acts[file->is_removal], file->path);
	snprintf(node->runtime, sizeof node->runtime, "%s", runtime_word);
	snprintf(node->status, sizeof node->status, "ok");
	snprintf(node->outcome, sizeof node->outcome, "committed");
	*text = both;
	return 0;
}

static bool take(const json_t *json, const char *name, char *out, size_t room)
{
	const char *text = json_string_value(json_object_get(json, name));
	size_t bytes = json_string_length(json_object_get(json, name));
	if (!text || bytes == 0 || bytes >= room || strlen(text) != bytes)
		return false;
	memcpy(out, text, bytes + 1);
	return true;
}

static bool read_json(struct file_step *out, const json_t *json)
{
	char act[8];
	unsigned char digest[DIGEST_RAW_BYTES];
	const json_t *size = json_object_get(json, "size");
	if (!take(json, "act", act, sizeof act) || !take(json, "path", out->path, sizeof out->path))
		return false;
	out->is_removal = strcmp(act, acts[1]) == 0;
	if (out->is_removal)
		return json_object_size(json) == 2;
	out->size_bytes = (uint64_t)json_integer_value(size);
	return strcmp(act, acts[0]) == 0 && json_object_size(json) == 4 && json_is_integer(size) &&
		json_integer_value(size) >= 0 && json_integer_value(size) <= JOURNAL_BLOB_MAX &&
		take(json, "sha256", out->digest, sizeof out->digest) &&
		digest_read(digest, out->digest) == 0;
}

int file_step_read(struct file_step *out, const struct journal_node *node, struct err *err)
{
	*out = (struct file_step){0};
	cleanup_json json_t *json =
		json_loadb(node->record, node->record_bytes, JSON_REJECT_DUPLICATES, NULL);
	return json && read_json(out, json)
		? 0
		: err_set(err, ERR_DAMAGED, "step %.12s: it is not a change of a file",
			  node->digest);
}
