package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/listwatch/listwatch/examples/quickstart/internal/manifest"
)

// stage is where the acts take place: a server of our own, synced informers,
// and a few objects to write to.
type stage struct {
	site  *site
	fleet *fleet
	out   *printer
	cast  []*actor
}

// play does what happens to informers in their life, act by act.
func play(ctx context.Context, site *site, informers *fleet, objects []manifest.Object, out *printer) error {
	s := &stage{site: site, fleet: informers, out: out, cast: chooseCast(informers, objects)}
	for _, act := range []func(context.Context) error{s.connected, s.cut, s.expired, s.onwards} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// connected: the plain case.
func (s *stage) connected(ctx context.Context) error {
	s.out.say("act 1: everything is connected; objects are created, updated and deleted")
	if err := s.each(ctx, s.createCopy, s.update); err != nil {
		return err
	}
	if err := s.deleteCopy(ctx, s.cast[0]); err != nil {
		return err
	}
	return s.out.settle(ctx)
}

// cut: the connections break, and the informers go on where they were.
func (s *stage) cut(ctx context.Context) error {
	asked, err := s.cutAll("act 2: all watch connections (%d) are cut; the informers come back and resume, without fetching everything anew")
	if err != nil {
		return err
	}
	if err := s.site.gate.awaitWatches(ctx, asked); err != nil {
		return fmt.Errorf("not every informer came back after the cut: %w", err)
	}
	if err := s.each(ctx, s.update); err != nil {
		return err
	}
	if err := s.createCopy(ctx, s.cast[0]); err != nil {
		return err
	}
	if err := s.out.settle(ctx); err != nil {
		return err
	}
	if relists := sum(s.fleet.expired()); relists > 0 {
		return fmt.Errorf("%d informers fetched everything anew where resuming was possible", relists)
	}
	return nil
}

// cutAll cuts the watch of every informer and says so. It returns how many
// watch requests there will have been when all informers have asked again.
func (s *stage) cutAll(announcement string) (int, error) {
	again := s.site.gate.watches() + len(s.fleet.members)
	dropped := s.site.server.DropWatches()
	s.out.say(announcement, dropped)
	if dropped != len(s.fleet.members) {
		return 0, fmt.Errorf("the server has cut %d watches, there are %d informers", dropped, len(s.fleet.members))
	}
	return again, nil
}

// expired: the connections break, and when the informers come back the server
// no longer knows what happened meanwhile.
func (s *stage) expired(ctx context.Context) error {
	if err := s.site.gate.awaitFlowing(ctx, len(s.fleet.members)); err != nil {
		return fmt.Errorf("not every informer is connected: %w", err)
	}
	before := s.fleet.expired()
	compacted, err := s.disconnected(ctx)
	if err != nil {
		return err
	}
	if err := s.awaitRelists(ctx, before, compacted); err != nil {
		return err
	}
	if err := s.out.settle(ctx); err != nil {
		return err
	}
	return s.checkRelists(before)
}

// disconnected is what happens between the cut and the return. It returns the
// resourceVersion before which the server knows nothing any more.
func (s *stage) disconnected(ctx context.Context) (int64, error) {
	s.site.gate.shut()
	defer s.site.gate.open()
	asked, err := s.cutAll("act 3: all watch connections (%d) are cut again, and this time the informers cannot come back")
	if err != nil {
		return 0, err
	}
	if err := s.site.gate.awaitWatches(ctx, asked); err != nil {
		return 0, fmt.Errorf("not every informer has noticed the cut: %w", err)
	}
	s.out.say("       meanwhile objects are created, updated, deleted, and deleted and created again")
	if err := s.writeUnseen(ctx); err != nil {
		return 0, err
	}
	compacted, err := s.site.server.Compact(ctx)
	if err != nil {
		return 0, err
	}
	s.out.say("       the server forgets its history up to resourceVersion %d, so nobody can resume;", compacted)
	s.out.say("       the informers may come back: each must get 410 Expired, fetch everything and find what it missed")
	return compacted, nil
}

// awaitRelists waits until every informer has relisted since before, and every
// cache is at the compacted resourceVersion or newer: an older one, also of a
// kind that nothing happened to, would expire at once.
func (s *stage) awaitRelists(ctx context.Context, before []int64, compacted int64) error {
	err := s.fleet.await(ctx, func() bool {
		for i, after := range s.fleet.expired() {
			if after == before[i] {
				return false
			}
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("not every informer has relisted (%d of %d): %w",
			sum(s.fleet.expired())-sum(before), len(before), err)
	}
	for _, m := range s.fleet.members {
		if err := m.informer.WaitFor(ctx, fmt.Sprint(compacted)); err != nil {
			return err
		}
	}
	return nil
}

// writeUnseen changes objects while no informer is connected.
func (s *stage) writeUnseen(ctx context.Context) error {
	if err := s.each(ctx, s.update, s.deleteCopy); err != nil {
		return err
	}
	// Created again under the old name it is another object: the informer must
	// report the end of the one and the beginning of the other.
	return s.createCopy(ctx, s.cast[0])
}

// checkRelists asserts that every informer has relisted exactly once.
func (s *stage) checkRelists(before []int64) error {
	for i, after := range s.fleet.expired() {
		if relists := after - before[i]; relists != 1 {
			return fmt.Errorf("the informer of %s was to relist once after 410 Expired, it did %d times",
				s.fleet.members[i].kind(), relists)
		}
	}
	s.out.say("       every informer (%d) got 410 Expired and relisted once", len(before))
	return nil
}

// onwards: after all that, changes arrive as in the beginning.
func (s *stage) onwards(ctx context.Context) error {
	s.out.say("act 4: life goes on, and what the program created is removed")
	if err := s.each(ctx, s.update); err != nil {
		return err
	}
	if err := s.deleteCopy(ctx, s.cast[0]); err != nil {
		return err
	}
	return s.out.settle(ctx)
}

// each does the deeds for every actor in turn.
func (s *stage) each(ctx context.Context, deeds ...func(context.Context, *actor) error) error {
	for _, a := range s.cast {
		for _, deed := range deeds {
			if err := deed(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stage) createCopy(ctx context.Context, a *actor) error {
	if a.copied == nil {
		return nil
	}
	s.out.expect(changeName("+", a.member.kind(), keyOf(a.copied)))
	return create(ctx, s.site.client, a.member.mapping, a.copied)
}

func (s *stage) deleteCopy(ctx context.Context, a *actor) error {
	if a.copied == nil {
		return nil
	}
	s.out.expect(changeName("-", a.member.kind(), keyOf(a.copied)))
	resource := resourceOf(s.site.client, a.member.mapping, a.copied.GetNamespace())
	return resource.Delete(ctx, a.copied.GetName(), metav1.DeleteOptions{})
}

// update changes the original. It reads the server, not the cache, which may be
// cut off at the moment.
func (s *stage) update(ctx context.Context, a *actor) error {
	resource := resourceOf(s.site.client, a.member.mapping, a.namespace)
	object, err := resource.Get(ctx, a.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	a.updates++
	modify(object, a.updates)
	s.out.expect(changeName("~", a.member.kind(), keyOf(object)))
	_, err = resource.Update(ctx, object, metav1.UpdateOptions{})
	return err
}

// modify makes a change that suits the object.
func modify(object *unstructured.Unstructured, times int64) {
	for _, path := range [][]string{{"spec", "replicas"}, {"spec", "leaseTransitions"}} {
		if number, found, err := unstructured.NestedInt64(object.Object, path...); found && err == nil {
			_ = unstructured.SetNestedField(object.Object, number+1, path...) // its parents are maps
			return
		}
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["example.com/updates"] = fmt.Sprint(times)
	object.SetAnnotations(annotations)
}

func sum(numbers []int64) (total int64) {
	for _, number := range numbers {
		total += number
	}
	return total
}
