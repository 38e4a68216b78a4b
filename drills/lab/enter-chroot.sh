# Runs a program in a chroot: unshare --mount sh enter-chroot.sh ROOT LABS PROGRAM ARGUMENT...
#
# The folders outside the system's own (/home, /root, /tmp, /srv ...) and LABS are inside what they are outside, so that
# a path means the same on both sides. All mounts belong to the mount namespace this runs in: the kernel takes them away
# with its last process, whatever ended that, and nothing is ever mounted in the machine's own eyes.
set -eu
root=$1
labs=$2
shift 2
for folder in /*; do
    case $folder in
        /bin | /boot | /dev | /etc | /lib* | /lost+found | /proc | /run | /sbin | /sys | /usr | /var) continue ;;
    esac
    if [ -d "$folder" ] && [ ! -L "$folder" ]; then
        mkdir -p "$root$folder"
        mount --rbind "$folder" "$root$folder"
    fi
done
case $labs in
    /var/* | /run/* | /usr/*)
        mkdir -p "$root$labs"
        mount --rbind "$labs" "$root$labs"
        ;;
esac
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec chroot "$root" "$@"
