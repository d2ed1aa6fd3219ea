// Command go-peer is a Foo service provider on opencontrolplane-runtime, the
// runtime that providers move over from, and back to.
// It applies one ConfigMap to the MCP cluster and one to the workload cluster.
package main

import (
	"context"
	"flag"
	"os"
	"time"

	"github.com/openmcp-project/controller-utils/pkg/clusters"
	"github.com/openmcp-project/opencontrolplane-runtime/pkg/serviceprovider"
	"github.com/openmcp-project/opencontrolplane-runtime/pkg/serviceprovider/clusteraccess"
	foo "github.com/openmcp-project/opencontrolplane-runtime/testdata/api/v1alpha1"
	config "github.com/openmcp-project/opencontrolplane-runtime/testdata/config/v1alpha1"
	clustersv1alpha1 "github.com/openmcp-project/openmcp-operator/api/clusters/v1alpha1"
	"github.com/openmcp-project/openmcp-operator/api/common"
	"github.com/openmcp-project/openmcp-operator/lib/clusteraccess/advanced"
	"github.com/openmcp-project/openmcp-operator/lib/utils"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type provider struct{}

func apply(ctx context.Context, c client.Client, name string) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	_, err := ctrl.CreateOrUpdate(ctx, c, cm, func() error { cm.Data = map[string]string{"installed": "true"}; return nil })
	return err
}

func (provider) CreateOrUpdate(ctx context.Context, o *foo.Foo, _ *config.ProviderConfig, cc clusteraccess.ClusterContext) (ctrl.Result, error) {
	name := "foo-" + o.Namespace + "-" + o.Name
	if err := apply(ctx, cc.MCPCluster.Client(), name); err != nil {
		return ctrl.Result{}, err
	}
	if cc.WorkloadCluster != nil {
		if err := apply(ctx, cc.WorkloadCluster.Client(), name+"-wl"); err != nil {
			return ctrl.Result{}, err
		}
	}
	serviceprovider.StatusReady(o)
	return ctrl.Result{}, nil
}

func (provider) Delete(ctx context.Context, o *foo.Foo, _ *config.ProviderConfig, cc clusteraccess.ClusterContext) (ctrl.Result, error) {
	serviceprovider.StatusTerminating(o)
	name := "foo-" + o.Namespace + "-" + o.Name
	for i, c := range []*clusters.Cluster{cc.MCPCluster, cc.WorkloadCluster} {
		if c == nil {
			continue
		}
		n := name
		if i == 1 {
			n += "-wl"
		}
		if err := client.IgnoreNotFound(c.Client().Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: n, Namespace: "default"}})); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

func cluster(id, path string, add ...func(*runtime.Scheme) error) *clusters.Cluster {
	s := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(s))
	for _, a := range add {
		must(a(s))
	}
	rc, err := clientcmd.BuildConfigFromFlags("", path)
	must(err)
	rc.QPS, rc.Burst = 1000, 2000
	c := clusters.New(id).WithRESTConfig(rc)
	must(c.InitializeClient(s))
	return c
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	platformPath := flag.String("platform", "", "kubeconfig of the platform cluster")
	onboardingPath := flag.String("onboarding", "", "kubeconfig of the onboarding cluster")
	workload := flag.Bool("workload", true, "order a workload cluster")
	name := flag.String("provider-name", "foo", "ProviderConfig name")
	retry := flag.Duration("retry", 10*time.Second, "cluster access retry interval (the template's value is 10s)")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	platform := cluster("platform", *platformPath, config.AddToScheme, clustersv1alpha1.AddToScheme)
	onboarding := cluster("onboarding", *onboardingPath, foo.AddToScheme)
	s := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(s))
	must(foo.AddToScheme(s))
	mgr, err := ctrl.NewManager(onboarding.RESTConfig(), ctrl.Options{Scheme: s, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"})
	must(err)
	must(mgr.Add(platform.Cluster()))
	all := []clustersv1alpha1.PermissionsRequest{{Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}}}
	token := &clustersv1alpha1.TokenConfig{Permissions: all}
	mcp := advanced.ExistingClusterRequest("mcp", "mcp", func(req reconcile.Request, _ ...any) (*common.ObjectReference, error) {
		ns, err := utils.StableMCPNamespace(req.Name, req.Namespace)
		return &common.ObjectReference{Name: req.Name, Namespace: ns}, err
	}).WithNamespaceGenerator(advanced.DefaultNamespaceGeneratorForMCP).WithTokenAccess(token).WithScheme(s).Build()
	car := advanced.NewClusterAccessReconciler(platform.Client(), *name).WithRetryInterval(*retry).Register(mcp)
	if *workload {
		car.Register(advanced.NewClusterRequest("workload", "wl", advanced.StaticClusterRequestSpecGenerator(&clustersv1alpha1.ClusterRequestSpec{Purpose: clustersv1alpha1.PURPOSE_WORKLOAD})).
			WithNamespaceGenerator(advanced.DefaultNamespaceGeneratorForMCP).WithTokenAccess(token).WithScheme(s).Build())
	}
	r := serviceprovider.NewAPIReconcilerBuilder[*foo.Foo, *config.ProviderConfig]().
		EmptyObjectProvider(func() *foo.Foo { return &foo.Foo{} }).
		EmptyConfigProvider(func() *config.ProviderConfig { return &config.ProviderConfig{} }).
		PlatformCluster(platform).OnboardingCluster(onboarding).
		Reconciler(provider{}).WorkloadCluster(*workload).
		AdvancedClusterAccessReconciler(car).MustBuild()
	must(r.SetupWithManager(mgr, *name))
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}
