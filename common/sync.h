/*
 * sync: a folder's names on the disk.
 *
 * A file that was flushed can still lose its name: that lies in the folder, which is flushed by itself.
 */
#ifndef COMMON_SYNC_H
#define COMMON_SYNC_H

/* 0, or the negative error. Some file systems cannot sync a folder and say EINVAL: there a name is as
 * safe as it gets, and that is 0. */
int sync_folder(const char *folder);

#endif
