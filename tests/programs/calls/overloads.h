/* One of two functions called `convert`; the other one is in overloads.cpp. */
#pragma once

__attribute__((noinline)) inline double convert(double value) {
    __asm__ volatile("" : "+x"(value));
    return value * 2;
}
