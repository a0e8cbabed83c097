#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <signal.h>
#include <pthread.h>
static volatile sig_atomic_t told;
static void on(int s){told=1;}
__attribute__((noinline)) int leg(int i){return i+1;}
static void* work(void*a){ unsigned r=(unsigned)(long)a; void*p[512]={0}; size_t n[512]; unsigned long x=0;
 while(!told){ r=r*1103515245+12345; int i=(r>>16)%512; if(p[i]){ for(size_t k=0;k<n[i];k+=61) if(((unsigned char*)p[i])[k]!=(unsigned char)i) abort(); free(p[i]);} n[i]=(r>>8)%40000+1; p[i]=malloc(n[i]); memset(p[i],i,n[i]); x+=leg(i);} return (void*)x;}
int main(int c,char**v){ signal(SIGUSR1,on); pthread_t t; if(c>1) pthread_create(&t,0,work,(void*)7); puts("ready"); fflush(stdout); work((void*)3); if(c>1) pthread_join(t,0); puts("right"); return 0;}
