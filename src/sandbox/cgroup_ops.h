/* What differs between the three kinds of cgroup host: how each is found, and two tables of
 * files. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/cgroup.h"
#include "sandbox/cgroup_file.h"

/* How much it matters that a setting is refused. */
enum cgroup_need {
	CGROUP_MUST, /* the leaf cannot be made */
	CGROUP_MAY,  /* optional: an older kernel lacks the file */
	/* EINVAL: the row's limit is not enforced; any other error as CGROUP_MUST */
	CGROUP_DEGRADE,
};

/* One file of a new leaf; rows are written in order. */
struct cgroup_setting {
	enum cgroup_controller controller;
	const char *file;
	void (*text)(const struct limits *limits, char *out, size_t room);
	enum limit limit; /* enforced once this row is written, or LIMIT_END_ */
	enum cgroup_need need;
};

/* One number of a leaf: where it stands and which field of struct box_usage it is. */
struct cgroup_reading {
	enum cgroup_controller controller;
	const char *file;
	const char *key; /* NULL: the file is the number */
	size_t field;	 /* offset in struct box_usage */
	uint64_t divide; /* factor from the file's unit to the field's */
	bool is_optional;
};

/* The cgroup of this process in each hierarchy; empty: it is in none, or the path is too long. */
struct cgroup_self {
	char v2[CGROUP_PATH_BYTES];
	char v1[CGROUP_CONTROLLER_END_][CGROUP_PATH_BYTES];
};

struct cgroup_ops {
	enum limit_by by;
	/*
	 * Fill the bases. Returns: 1; -ENOENT when the host lacks this kind, -EPERM when we may
	 * not use it, each with the reason in `why`.
	 */
	int (*find)(struct cgroup_host *host, const struct cgroup_self *self);
	/* Undo what find() made, or NULL. */
	void (*leave)(struct cgroup_host *host);
	/* Open what a process needs to join, as cgroup_leaf_join_fds() says. */
	int (*join_fds)(const struct cgroup_leaf *leaf, int fds[CGROUP_JOIN_FDS]);
	const struct cgroup_setting *settings;
	size_t n_settings;
	const struct cgroup_reading *readings;
	size_t n_readings;
};

extern const struct cgroup_ops cgroup_ops_none, cgroup_ops_v1, cgroup_ops_v2;
extern const char *const cgroup_controller_names[CGROUP_CONTROLLER_END_];

/* A cgroup line of mountinfo, unescaped. */
struct cgroup_mount {
	bool is_v2;
	char root[CGROUP_PATH_BYTES];  /* the cgroup that the mount shows */
	char point[CGROUP_PATH_BYTES]; /* where it shows it */
	char options[CGROUP_PATH_BYTES];
};

void cgroup_self_read(struct cgroup_self *self, const char *root);

/* Lines of mountinfo: open, then go through those that are cgroup mounts. */
int cgroup_mounts_open(struct cgroup_lines *lines, const char *root);
bool cgroup_mounts_next(struct cgroup_lines *lines, struct cgroup_mount *mount);

/*
 * The directory of the cgroup @own in @mount.
 * Returns: 0, -ENOENT when the mount does not show it, -ENAMETOOLONG.
 */
int cgroup_mount_dir(char out[CGROUP_PATH_BYTES], const char *root,
	const struct cgroup_mount *mount, const char *own);

/* May we make a leaf in @dir? Only checks permissions. Returns: 0, or negative errno. */
int cgroup_probe(const char *dir);

/* Add a reason to `why`, after "; " when there is one; cut at its end. */
void cgroup_why(struct cgroup_host *host, const char *fmt, ...) attr_printf(2, 3);

/* Is @row the first row with its base? Rows may share a hierarchy, and a base may be empty. */
bool cgroup_is_first(const struct cgroup_host *host, size_t row);

/* A pid means something only within its pid namespace, so names contain the namespace's number. */
uint64_t cgroup_own_namespace(void);

/* Is "/" a directory of plain files (tests)? Then files are created, as the kernel would create
 * them. */
bool cgroup_is_fake(const struct cgroup_host *host);

/* Write @text into @dir/@file in one piece. Returns: 0, or negative errno. */
int cgroup_write(
	const struct cgroup_host *host, const char *dir, const char *file, const char *text);

/* The texts that v1 and v2 share. */
void cgroup_text_memory(const struct limits *limits, char *out, size_t room);
void cgroup_text_pids(const struct limits *limits, char *out, size_t room);
void cgroup_text_zero(const struct limits *limits, char *out, size_t room);
uint64_t cgroup_quota_us(const struct limits *limits);

enum { CGROUP_PERIOD_US = 100000 };
