import subprocess,sys,time,signal
from strobe.session import SessionManager
from strobe.model import *
m=SessionManager()
for args in ([],['2']):
    p=subprocess.Popen(['/tmp/mallocs',*args],stdout=subprocess.PIPE,text=True); p.stdout.readline()
    bad=0; t=time.time()
    for i in range(40):
        try:
            s=m.launch(LaunchSpec("",pid=p.pid),["leg"]); time.sleep(.02); s.stop()
        except Exception as e: bad+=1; print(i,type(e).__name__,str(e)[:150])
        if p.poll() is not None: print("dead",p.returncode,i); break
    p.send_signal(signal.SIGUSR1)
    try: print(args, p.communicate(timeout=20), p.returncode,'bad',bad, time.time()-t)
    except Exception as e: print('HANG',e); p.kill()
m.close()
