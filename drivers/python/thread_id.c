/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "thread_id.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* musl's struct of a thread begins with pointers, and then comes the id. Source: pthread_impl.h */
enum { ID_INTS = 16 };

static int *find_in_thread(int tid)
{
	int *ints = (int *)(uintptr_t)pthread_self();

	for (int i = 0; i < ID_INTS; i++)
		if (ints[i] == tid)
			return &ints[i];
	return NULL;
}

int thread_id_find(struct thread_id *id)
{
	int tid = (int)syscall(SYS_gettid);

	id->cleared = NULL;
	if (prctl(PR_GET_TID_ADDRESS, &id->cleared, 0, 0, 0) < 0)
		return -errno;
	if (!id->cleared)
		return -ENOTSUP;
	id->kept = *id->cleared == tid ? id->cleared : find_in_thread(tid);
	return id->kept ? 0 : -ENOTSUP;
}

static pid_t raw_clone(unsigned long flags, int *tid)
{
#if defined(__x86_64__)
	return (pid_t)syscall(SYS_clone, flags, NULL, NULL, tid, NULL);
#elif defined(__s390x__)
	return (pid_t)syscall(SYS_clone, NULL, flags, NULL, tid, NULL);
#else
	return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, tid);
#endif
}

pid_t thread_id_clone(const struct thread_id *id, unsigned long flags)
{
	pid_t pid;

	if (id->kept == id->cleared)
		return raw_clone(flags | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID, id->cleared);
	pid = raw_clone(flags | CLONE_CHILD_CLEARTID, id->cleared);
	if (pid == 0)
		*id->kept = (int)syscall(SYS_gettid);
	return pid;
}
