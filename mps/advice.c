#include "mps/advice.h"

#include <stddef.h>

const char *mps_advice(int cuda_error)
{
    switch (cuda_error) {
    case 805:
        return "the MPS daemon was reached, but it admitted no client: it ended just then, it "
               "belongs to another user, or its server did not start; the log in its log directory "
               "has the "
               "reason";
    case 806:
        return "the MPS server ended or did not answer while it was being used: look for its death "
               "in the daemon's log and in 'dmesg', then run the point again";
    case 807:
        return "the MPS server takes no clients now, even after 10 s of trying: it is starting, or "
               "a client's fault is being cleared and lasts until every client has ended; 'mpsweep "
               "mps status' shows which, and the clients that are left";
    case 808:
        return "this GPU and driver take no more MPS clients: use fewer processes with more "
               "threads each, as in hybrid:PxT; 'mpsweep doctor --limits' finds how many fit";
    case 809:
        return "the MPS clients' hardware queues are used up: lower --connections, or use fewer "
               "processes; 'mpsweep doctor --limits' finds the budget";
    case 810:
        return "the MPS server was asked to end this client: a user ran terminate_client, or "
               "mpsweep did for a worker that hung";
    default:
        return NULL;
    }
}

const char *mps_advice_of_queues(int cuda_error)
{
    return cuda_error == 2 ? mps_advice(809) : NULL;
}
