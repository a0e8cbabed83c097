/* The second parameter comes in rdx by both conventions; the first one does not. Others around show which one it is. */
__attribute__((noinline, noclone)) static int sysv_abi(__int128 wide, signed char small) {
    __asm__ volatile("" ::"m"(wide), "r"(small));
    return small;
}

__attribute__((noinline, noclone, ms_abi)) static int ms_abi(__int128 wide, signed char small) {
    __asm__ volatile("" ::"m"(wide), "r"(small));
    return small;
}

__attribute__((noinline, noclone, ms_abi)) static int other(int value) {
    __asm__ volatile("" ::"r"(value));
    return value;
}

int main(void) { return sysv_abi((__int128)5 << 64 | 7, -3) + ms_abi((__int128)6 << 64 | 8, -4) + other(7); }
