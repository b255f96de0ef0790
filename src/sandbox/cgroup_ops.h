/*
 * The functions and tables in which cgroup v1, cgroup v2 and CGROUP_NONE differ, and what they
 * share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "sandbox/cgroup.h"
#include "sandbox/cgroup_file.h"

/* What happens if the kernel refuses a setting. */
enum cgroup_need {
	CGROUP_MUST, /* if the kernel refuses the setting, cgroup_leaf_open() fails */
	CGROUP_MAY,  /* a refused setting is skipped, since older kernels lack the file */
	/* If the kernel refuses the setting with EINVAL, the leaf is made without it, and the
	 * kernel does not enforce the limit of the setting. If the kernel refuses the setting
	 * with another error, cgroup_leaf_open() fails. */
	CGROUP_DEGRADE,
};

/* A file to write in a new leaf. The settings are written in the order of their table. */
struct cgroup_setting {
	enum cgroup_controller controller;
	const char *file;
	void (*text)(const struct limits *limits, char *out, size_t room);
	/* the limit that the kernel enforces by this file; LIMIT_END_ if the file only
	 * supplements another setting */
	enum limit limit;
	enum cgroup_need need;
};

/* A number to read from a file of the leaf into a field of struct box_usage. */
struct cgroup_reading {
	enum cgroup_controller controller;
	const char *file;
	const char *key; /* the word before the number; NULL if the file is only a number */
	size_t field;	 /* offset of the field in struct box_usage */
	uint64_t divide; /* the number is divided by this to get the field's unit */
	bool is_optional;
};

/*
 * The path of this process's cgroup in each hierarchy. "" if it has none or the path is too long.
 */
struct cgroup_self {
	char v2[CGROUP_PATH_BYTES];
	char v1[CGROUP_CONTROLLER_END_][CGROUP_PATH_BYTES];
};

struct cgroup_ops {
	enum limit_by by;
	/*
	 * Find the directories in which this host lets us make leaves, and fill host->base with
	 * their paths.
	 * Returns:
	 * - 1 if leaves can be made.
	 * - -ENOENT if the host does not have this version of cgroups (v1 or v2).
	 * - -EPERM if the host has this version, but does not let us use it.
	 * After an error host->why has the reason.
	 */
	int (*find)(struct cgroup_host *host, const struct cgroup_self *self);
	/* Undo what find() changed. NULL if there is nothing to undo. */
	void (*leave)(struct cgroup_host *host);
	/* Implements cgroup_leaf_join_fds(). */
	int (*join_fds)(const struct cgroup_leaf *leaf, int fds[CGROUP_JOIN_FDS]);
	const struct cgroup_setting *settings;
	size_t n_settings;
	const struct cgroup_reading *readings;
	size_t n_readings;
};

extern const struct cgroup_ops cgroup_ops_none, cgroup_ops_v1, cgroup_ops_v2;
extern const char *const cgroup_controller_names[CGROUP_CONTROLLER_END_];

/* A cgroup mount: a line of /proc/self/mountinfo without its escapes. */
struct cgroup_mount {
	bool is_v2;
	char root[CGROUP_PATH_BYTES];  /* the cgroup that is visible at the mount point */
	char point[CGROUP_PATH_BYTES]; /* the mount point */
	char options[CGROUP_PATH_BYTES];
};

void cgroup_self_read(struct cgroup_self *self, const char *root);

/* Iterate over the cgroup mounts in mountinfo: open, then call cgroup_mounts_next() until it
 * returns false. */
int cgroup_mounts_open(struct cgroup_lines *lines, const char *root);
bool cgroup_mounts_next(struct cgroup_lines *lines, struct cgroup_mount *mount);

/*
 * Find the directory in which @mount shows the cgroup @own. @root is that of cgroup_host_open().
 * Returns: 0; -ENOENT when the mount does not show that cgroup; -ENAMETOOLONG.
 */
int cgroup_mount_dir(char out[CGROUP_PATH_BYTES], const char *root,
	const struct cgroup_mount *mount, const char *own);

/* Check whether permissions let us make a leaf in @dir. Returns: 0, or negative errno. */
int cgroup_probe(const char *dir);

/* Append a reason to host->why, after "; " unless it is the first. What does not fit is cut off. */
void cgroup_why(struct cgroup_host *host, const char *fmt, ...) attr_printf(2, 3);

/* Return whether the controller @row has a base that no earlier controller has. Controllers that
 * share a hierarchy share a base, and a loop over the controllers must handle each base once. */
bool cgroup_is_first(const struct cgroup_host *host, size_t row);

/* Return the number of our pid namespace, or 0. The names of leaves contain it, since a pid is
 * unique only within its namespace. */
uint64_t cgroup_own_namespace(void);

/* Return whether a test's directory of plain files is used in place of "/". We then create the
 * files that the kernel creates in a cgroup. */
bool cgroup_is_fake(const struct cgroup_host *host);

/* Open the file @file in the directory @dir, write @text to it, and close it. Returns: 0, or
 * negative errno. */
int cgroup_write(
	const struct cgroup_host *host, const char *dir, const char *file, const char *text);

/* Values of cgroup_setting.text, for the settings of cgroup v1 and of cgroup v2. Each function
 * writes a number as text to @out: the memory limit, the limit on processes, or 0. */
void cgroup_text_memory(const struct limits *limits, char *out, size_t room);
void cgroup_text_pids(const struct limits *limits, char *out, size_t room);
void cgroup_text_zero(const struct limits *limits, char *out, size_t room);
/* Return how many µs of CPU time a box may use in each period of CGROUP_PERIOD_US. */
uint64_t cgroup_quota_us(const struct limits *limits);

enum { CGROUP_PERIOD_US = 100000 };
