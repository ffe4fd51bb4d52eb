package ops

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
)

// Recorder returns a recorder of events that are written to the server in the
// background, and what ends it. Objects that events are about are of client-go's
// scheme, or have their kind in them. Events are for people: one that cannot be
// written is tried again for a while and then given up; nobody must rely on them.
func Recorder(ctx context.Context, client kubernetes.Interface, controller string) (recorder events.EventRecorder, stop func(), err error) {
	// The events of the end are to be written after ctx has ended.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	stop = func() {
		broadcaster.Shutdown()
		cancel()
	}
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		stop()
		return nil, nil, fmt.Errorf("record events: %w", err)
	}
	return broadcaster.NewRecorder(scheme.Scheme, controller).WithLogger(klog.FromContext(ctx)), stop, nil
}
